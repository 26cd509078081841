"""Reference semantics of the stages: naive Python generators for the random tests.

Generators exchange steps: elements in the form in which pipelines return them, and a `Failure` in
place of each error. A stage takes an iterable of steps. A stage that iterates over its input more
than once takes a function that returns a new iterable.
"""

import dataclasses
import itertools

import numpy as np

from contract import Failure


def any_failure(kind):
    """Return a failure that matches any message."""
    return Failure(kind, ...)


def failed(step):
    return isinstance(step, Failure)


# --- elements ---


def element(value):
    """Return a function's result as a pipeline returns it; a top-level list becomes a tuple."""
    return tuple(leaf(v) for v in value) if type(value) is list else leaf(value)


def leaf(value):
    """Return a value, nested or not, as a pipeline returns it; a list becomes one array."""
    if isinstance(value, dict):
        return type(value)((key, leaf(v)) for key, v in value.items())
    if isinstance(value, tuple):
        parts = [leaf(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if value is None or isinstance(value, (str, bytes, frozenset)):
        return value
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
        return type(value)(**{name: leaf(getattr(value, name)) for name in fields})
    array = np.asarray(value)
    if array.dtype.kind in "US":
        array = array.astype(object)
    return array[()] if array.ndim == 0 else array


def leaves(value):
    """List the leaves of an element, in order."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = tuple(value.values())
    elif dataclasses.is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    return [x for part in value for x in leaves(part)] if isinstance(value, tuple) else [value]


def like(pattern, values):
    """Nest the leaves of an iterator like those of `pattern`."""
    if pattern is None:
        return None
    if isinstance(pattern, dict):
        return {key: like(part, values) for key, part in pattern.items()}
    if isinstance(pattern, tuple):
        parts = [like(part, values) for part in pattern]
        return type(pattern)(*parts) if hasattr(pattern, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(pattern):
        fields = [field.name for field in dataclasses.fields(pattern)]
        return type(pattern)(**{name: like(getattr(pattern, name), values) for name in fields})
    return next(values)


def signature(value):
    """Return the common properties of a batch's elements: structure, dtypes and shapes."""
    kinds = []
    for part in leaves(value):
        known = isinstance(part, (np.ndarray, np.generic))
        kinds.append((part.dtype.str, part.shape) if known else type(part).__name__)
    return repr(like(value, iter(kinds)))


def stack(rows):
    """Return a batch of elements of one signature."""
    columns = zip(*(leaves(row) for row in rows), strict=True)
    return like(rows[0], (_stack_leaf(column) for column in columns))


def _stack_leaf(parts):
    if isinstance(parts[0], (np.ndarray, np.generic)):
        return np.stack(parts)
    column = np.empty(len(parts), object)
    column[:] = parts
    return column


def call(function, value):
    """Return the result of a function for an element, or its failure."""
    try:
        return element(function(*value) if type(value) is tuple else function(value))
    except Exception as error:
        return Failure(type(error).__name__, str(error))


# --- element by element ---


def map(items, function):
    for x in items:
        yield x if failed(x) else call(function, x)


def filter(items, predicate):
    for x in items:
        keep = x if failed(x) else call(predicate, x)
        if not failed(keep) and not isinstance(keep, np.bool_):
            keep = any_failure("TypeError")
        if failed(keep):
            yield keep
        elif keep:
            yield x


def take_while(items, predicate):
    for x in items:
        keep = x if failed(x) else next(filter([x], predicate), None)
        if keep is None:
            return
        yield keep


def unique(items):
    """Yield each distinct value once, and every failure."""
    seen = set()
    for x in items:
        if failed(x) or x not in seen:
            yield x
            seen.add(None if failed(x) else x)


def enumerate(items, start=0):
    for i, x in zip(itertools.count(start), items, strict=False):
        yield x if failed(x) else (np.int64(i), x)


# --- selections ---


def take(items, count):
    return iter(items) if count < 0 else itertools.islice(items, count)


def skip(items, count):
    for i, x in zip(itertools.count(), items if count >= 0 else (), strict=False):
        if i >= count or failed(x):
            yield x


def shard(items, num_shards, index):
    return itertools.islice(items, index, None, num_shards)


def shard_evenly(again, num_shards, index, remainder, zero=None):
    """Yield one shard, dealt in rounds; `zero` makes the element that pads the last round."""
    items = iter(again())
    count = 0
    while len(one_round := list(itertools.islice(items, num_shards))) == num_shards:
        yield one_round[index]
        count += num_shards
    if index < len(one_round) and remainder != "drop":
        yield one_round[index]
    elif one_round and remainder == "repeat":
        yield next(itertools.islice(again(), (count + index) % (count + len(one_round)), None))
    elif one_round and remainder == "pad":
        alike = [x for x in one_round if not failed(x)]
        yield zero(alike[0]) if alike else any_failure("RuntimeError")


def repeat(again, count):
    """Yield repeated epochs; with a negative count forever, unless an epoch has no element."""
    for _ in range(count) if count >= 0 else itertools.count():
        empty = True
        for x in again():
            empty = empty and failed(x)
            yield x
        if empty and count < 0:
            return


# --- batches ---


def batch(items, size, drop_remainder=False):
    """Batch into lists of `size`, or of alternating sizes; elements unlike the first fail."""
    sizes = itertools.cycle(size if isinstance(size, list) else [size])
    rows, wanted = [], next(sizes)
    for x in items:
        if not failed(x) and rows and signature(x) != signature(rows[0]):
            x = any_failure("ValueError")
        if failed(x):
            yield x
            continue
        rows.append(x)
        if len(rows) == wanted:
            yield rows
            rows, wanted = [], next(sizes)
    if rows and not drop_remainder:
        yield rows


def stacked(items, size, drop_remainder=False):
    for rows in batch(items, size, drop_remainder):
        yield rows if failed(rows) else stack(rows)


def unbatch(items):
    for x in items:
        if failed(x):
            yield x
            continue
        columns = leaves(x)
        if not columns:  # the number of rows is unknown
            continue
        arrays = all(isinstance(column, np.ndarray) for column in columns)
        if not arrays or len({len(column) for column in columns}) != 1:
            yield any_failure("ValueError")
            continue
        for i in range(len(columns[0])):
            yield like(x, (column[i] for column in columns))


def padded(items, size, drop_remainder=False):
    """Stack elements of one structure, with arrays padded to the largest of the batch."""
    rows = ([[*leaves(x)], x] if not failed(x) else x for x in items)
    waiting = []
    for x in itertools.chain(rows, [None]):
        if x is not None and failed(x):
            yield x
            continue
        waiting += [x] if x is not None else []
        if len(waiting) == size or (x is None and waiting and not drop_remainder):
            columns = zip(*(parts for parts, _ in waiting), strict=True)
            yield like(waiting[0][1], (_padded_leaf(column) for column in columns))
            waiting = []


def _padded_leaf(column):
    if not isinstance(column[0], np.ndarray):
        return _stack_leaf(column)
    longest = np.max([part.shape for part in column], axis=0)
    return np.stack(
        [np.pad(p, [(0, n - m) for n, m in zip(longest, p.shape, strict=True)]) for p in column]
    )


def ragged_batches(items, size, drop_remainder=False):
    """Concatenate vectors; a second array contains their boundaries."""
    rows = []
    for x in items:
        if failed(x):
            yield x
            continue
        rows.append(x)
        if len(rows) == size:
            yield _ragged(rows)
            rows = []
    if rows and not drop_remainder:
        yield _ragged(rows)


def _ragged(rows):
    return np.concatenate(rows), np.cumsum([0, *(len(row) for row in rows)])


# --- windows and groups ---


def windows(items, size, shift, stride, drop_remainder):
    """Yield each window as one array; failures are dropped from all windows."""
    span = (size - 1) * stride + 1
    held, to_skip = [], 0
    for x in items:
        if failed(x):
            yield x
        elif to_skip:
            to_skip -= 1
        else:
            held.append(x)
            if len(held) == span:
                yield np.stack(held[::stride])
                held, to_skip = held[shift:], max(0, shift - len(held))
    while held and not drop_remainder:
        yield np.stack(held[::stride])
        held = held[shift:]


def grouped(items, key_of, size_of, reduce):
    """Yield the result of each window; incomplete ones are last, sorted by key."""
    waiting = {}
    for x in items:
        key = x if failed(x) else call(key_of, x)
        if failed(key):
            yield key
            continue
        rows = waiting.setdefault(int(key), [])
        rows.append(x)
        if len(rows) == size_of(int(key)):
            yield from reduce(waiting.pop(int(key)), size_of(int(key)))
    for key in sorted(waiting):
        yield from reduce(waiting[key], size_of(key))


def scan(items, state, function):
    """Carry a state; an element that fails leaves it unchanged."""
    for x in items:
        found = x if failed(x) else call(lambda *pair: function(*pair), (state, x))
        if not failed(found):
            state, found = found
        yield found


# --- several datasets ---


def zip_inputs(inputs):
    """Yield tuples; all inputs advance each time, and the first of several failures counts."""
    inputs = [iter(items) for items in inputs]
    while True:
        steps = [next(items, _END) for items in inputs]
        failures = [x for x in steps if failed(x)]
        if not failures and any(x is _END for x in steps):
            return
        yield failures[0] if failures else tuple(steps)


_END = object()


def alternately(*inputs):
    """Yield the steps of several inputs alternately, until all inputs are exhausted."""
    left = [iter(steps) for steps in inputs]
    while left:
        for steps in list(left):
            try:
                step = next(steps)
            except StopIteration:
                left.remove(steps)
            else:
                yield step


def choose(inputs, choices, stop):
    """Yield from the input with the chosen number; an empty one ends the dataset, or is skipped."""
    inputs = [iter(items) for items in inputs]
    open_ones = set(range(len(inputs)))
    for i in choices:
        x = next(inputs[i], _END)
        if x is not _END:
            yield x
            continue
        open_ones.discard(i)
        if stop or not open_ones:
            return


def interleave(inputs, cycle, block):
    """Visit slots cyclically; an exhausted one is skipped, and refilled at its next visit.

    An input is a list, or a failure if it could not be opened.
    """
    inputs = iter(inputs)
    slots = [None] * cycle
    at = closed = 0
    while closed < cycle:
        while slots[at] is None and (items := next(inputs, None)) is not None:
            if failed(items):
                yield items
            else:
                slots[at] = iter(items)
        if slots[at] is None:
            closed += 1
        else:
            closed = taken = 0
            for x in slots[at]:
                yield x
                taken += not failed(x)  # failures do not count
                if taken == block:
                    break
            else:
                slots[at] = None
        at = (at + 1) % cycle

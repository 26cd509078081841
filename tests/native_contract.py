"""The shared test of every operation: a native function returns the plain function's results."""

import numpy as np

import penstock as ps
from compare import assert_fits, assert_same
from penstock import _core
from penstock.ops.symbol import Trace
from penstock.ops.tracing import Traced

SEED = 20


def assert_native(function, elements):
    """Fail unless `function` returns the same eagerly, in a plain map and as a native program.

    Parameters
    ----------
    function : callable
        Takes the parts of an element, like a function of `Dataset.map`.
    elements : list
        Nested values with one structure. Their shapes may differ.
    """
    source = source_of(elements)
    wanted = run(source.map(function))
    traced = ps.native(function)
    assert_known_shapes(function, source, wanted)
    checked = ps.native(function, check=2)
    if not is_random(source, function):
        eager = [as_element(function(*(e if type(e) is tuple else (e,)))) for e in run(source)]
        assert_same([as_element(element) for element in wanted], eager)
    assert_same(run(source.map(traced)), wanted)
    assert_same(run(source.map(checked)), wanted)
    assert_same(
        run(source.map(checked, num_parallel_calls=2).batch(1)), run(source.map(function).batch(1))
    )
    for calls in (1, 2, 8):
        assert_same(run(source.map(traced, num_parallel_calls=calls)), wanted)
    batched = run(source.map(function).batch(1))
    assert_same(run(source.map(traced, num_parallel_calls=2).batch(1)), batched)
    assert_same(run(source.apply(ps.experimental.map_and_batch(traced, 1))), batched)
    try:
        whole = run(source.map(function).batch(len(elements)))
    except ValueError:  # results of several shapes
        return
    assert_same(run(source.map(traced).batch(len(elements))), whole)
    assert_same(run(source.map(traced, num_parallel_calls=2).batch(len(elements))), whole)
    stacked = source.batch(len(elements)).unbatch() if stackable(source, elements) else source
    assert_same(run(stacked.map(traced)), run(stacked.map(function)))


def assert_known_shapes(function, source, wanted):
    """Fail unless the results have the shapes that are inferred before the run."""
    shapes = []
    source._node.spec(lambda shape, dtype: shapes.append(shape))
    known = Traced("map", function, [source._node]).first.known_shapes(shapes)
    for element in wanted:
        for shape, leaf in zip(known, _core.flatten(element), strict=True):
            if shape is not None:
                assert_fits(ps.TensorSpec(shape, np.asarray(leaf).dtype), np.asarray(leaf))


def source_of(elements):
    """Return a dataset of these elements, with a known spec."""
    specs = [ps.Dataset.from_tensors(element).element_spec for element in elements]
    signature = _any_size(specs[0])
    return ps.Dataset.from_generator(lambda: iter(elements), output_signature=signature)


def run(dataset):
    """Return the elements, with the random numbers of one seed."""
    ps.random.set_seed(SEED)
    try:
        return list(dataset)
    finally:
        ps.random.set_seed(None)


def is_random(source, function):
    """Return whether a function draws random numbers."""
    trace = Trace()
    element = source._node.spec(lambda shape, dtype: trace.leaf(shape))
    with trace:
        function(*(element if type(element) is tuple else (element,)))
    return any(op.random for op, _, _ in trace.steps)


def as_element(value):
    """Return a function's result as an element."""
    return next(iter(ps.Dataset.from_tensors(tuple(value) if type(value) is list else value)))


def stackable(source, elements):
    try:
        list(source.batch(len(elements)))
    except ValueError:
        return False
    return True


def _any_size(spec):
    if isinstance(spec, ps.TensorSpec):
        shape = tuple(None for _ in spec.shape) if spec.shape else spec.shape
        return ps.TensorSpec(shape, spec.dtype)
    if isinstance(spec, dict):
        return {name: _any_size(part) for name, part in spec.items()}
    return tuple(_any_size(part) for part in spec)


def dtypes(kinds="?bhilBHILefdFD"):
    """Return the numeric dtypes with these NumPy characters."""
    return [np.dtype(kind) for kind in kinds]

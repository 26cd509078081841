"""Rules about the functions that stages call."""

from __future__ import annotations

from penstock.lint.rule import Said, rule
from penstock.lint.view import StageView
from penstock.probing import traceable

_SMALL = 256  # bytes: for smaller elements, a call costs more than its work


@rule("PS018")
def shared_random_generator(stage: StageView) -> Said:
    """A function of parallel calls draws from a generator that all threads share.

    **Why is this bad?** The order in which threads draw decides which element gets which number.
    Runs are not reproducible, whatever the seed, and a run that continues from a state draws other
    numbers.

    **Instead of**::

        def augment(x):
            return x + np.random.normal()

    **write**::

        def augment(x, rng):
            return x + rng.normal()

    `rng` is a separate generator for each element, derived from the seed and the position. The rule
    also finds generator objects (``g = np.random.default_rng(6)``, `random.Random`,
    ``torch.Generator``) in global and outer variables, default arguments, attributes and lists.

    **When to ignore it.** Runs need not be reproducible.
    """
    function = stage.python_function or stage.rows_function
    if stage.parallel and function is not None and function.draws_globally:
        yield (
            "parallel calls draw from one generator, in the order in which threads come",
            "let the function take rng: def f(x, rng)",
        )


@rule("PS019")
def threads_for_pure_python(stage: StageView) -> Said:
    """Parallel calls run loops of plain Python, which hold the GIL.

    **Why is this bad?** Only one thread of a process can run Python code at any moment. Switching
    between threads makes them slower than a single thread.

    **Instead of**::

        ds.map(tokenize, num_parallel_calls=8)

    **write**::

        ds.map(tokenize, num_parallel_calls=8, executor="process")

    or make the function native, or vectorise it with NumPy.

    **When to ignore it.** Python is a free-threaded build, without a GIL.
    """
    function = stage.python_function
    in_threads = stage.parallel and not stage.in_processes
    if (
        in_threads
        and stage.kind in ("map", "filter")
        and function is not None
        and function.holds_gil
    ):
        yield (
            "its calls are loops of plain Python, and hold the GIL",
            'give executor="process", or make the function @ps.native',
        )


@rule("PS020")
def function_that_can_be_native(stage: StageView) -> Said:
    """A plain function could be `@ps.native`.

    **Why is this bad?** Each call acquires the GIL and creates Python objects. A native function
    runs in C++, on blocks of elements, on all CPUs.

    **Instead of**::

        ds.map(lambda x: ps.cast(x, np.float32) / 255.0)

    **write**::

        ds.map(ps.native(lambda x: ps.cast(x, np.float32) / 255.0))

    **When to ignore it.** The function takes a small share of the time, or runs NumPy on large
    arrays: with `num_parallel_calls`, that is as fast.
    """
    if not _may_be_native(stage) or _is_vectorizable(stage):
        return
    yield "what its function does can run without Python", "make the function @ps.native"


@rule("PS021")
def function_of_single_elements(stage: StageView) -> Said:
    """A plain function processes small elements individually before a `batch`.

    **Why is this bad?** A Python call costs more than the arithmetic in it.

    **Instead of**::

        ds.map(lambda x: x * 2 + 1).batch(256)

    **write**::

        ds.batch(256).map(lambda x: x * 2 + 1)
        ds.map(ps.native(lambda x: x * 2 + 1)).batch(256)

    **When to ignore it.** The function means something else for a batch, such as a sum.
    """
    if _may_be_native(stage) and _is_vectorizable(stage):
        yield (
            "it calls Python for each small element",
            "put it after batch, or make the function @ps.native",
        )


@rule("PS022")
def examples_parsed_one_by_one(stage: StageView) -> Said:
    """`parse_single_example` is called for each record before a `batch`.

    **Why is this bad?** Parsing a whole batch builds each column in one step, on all CPUs.

    **Instead of**::

        records.map(lambda r: ps.io.parse_single_example(r, features)).batch(256)

    **write**::

        records.batch(256).map(lambda r: ps.io.parse_example(r, features))

    **When to ignore it.** A stage between them needs single elements, such as a shuffle of parsed
    Examples.
    """
    function = stage.python_function  # a native function receives blocks of records anyway
    if stage.kind != "map" or function is None or not function.parses_single_example:
        return
    if any(after.batches for after in stage.after):
        yield "it parses one record at a time", "batch the records first, then map parse_example"


@rule("PS023")
def crop_after_decode(stage: StageView) -> Said:
    """A function decodes a JPEG, and a later one crops the image.

    **Why is this bad?** The whole image is decoded, and most of it is discarded.

    **Instead of**::

        ds.map(ps.io.decode_jpeg).map(crop)

    **write**::

        @ps.native
        def load(data):
            return crop(ps.io.decode_jpeg(data))

    which decodes only the part that the crop keeps.

    **When to ignore it.** The whole images are cached between the two stages.
    """
    function = stage.function
    if stage.kind != "map" or function is None or not function.crops or function.decodes_jpeg:
        return
    for before in stage.before:
        if before.kind not in ("map", "prefetch", "ignore_errors"):
            return
        earlier = before.function
        if earlier is not None and earlier.decodes_jpeg:
            yield (
                f"{before} decodes the whole image before",
                "do both in one @ps.native function, or use io.decode_and_crop_jpeg",
            )
            return


def _may_be_native(stage: StageView) -> bool:
    if stage.kind not in ("map", "filter") or stage.python_function is None:
        return False
    if stage.args.get("output_signature") is not None or stage.args.get("part_of"):
        return False  # native functions do not support these arguments
    if stage.inputs[0].dataset._node.first_unknown() is not None:
        return False
    return traceable(stage.dataset) is not None


def _is_vectorizable(stage: StageView) -> bool:
    followed = any(after.batches for after in stage.after)
    return stage.kind == "map" and followed and stage.inputs[0].element_bytes <= _SMALL

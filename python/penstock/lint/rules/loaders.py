"""Rules about PyTorch and penstock DataLoaders."""

from __future__ import annotations

import math

from penstock.executors import processors
from penstock.lint.rule import Said, loader_rule
from penstock.loaders import LoaderView, has_accelerator

_MANY = 8  # maximum number of workers to suggest


def _cpus() -> int:
    return max(math.floor(processors()), 1)


@loader_rule("PS028")
def loader_without_workers(loader: LoaderView) -> Said:
    """A `DataLoader` has no workers.

    **Why is this bad?** The training loop loads each batch itself. While it loads, the accelerator
    is idle; while the model computes, nothing is loaded.

    **Instead of**::

        DataLoader(dataset, batch_size=32)

    **write**::

        DataLoader(dataset, batch_size=32, num_workers=4)
        ps.DataLoader(dataset, batch_size=32, num_workers=4)

    PyTorch's workers are processes: use at most as many as there are CPUs. The workers of
    `penstock.DataLoader` are threads by default. ``python -m penstock profile`` suggests a number.

    **When to ignore it.** Loading takes almost no time. Samples in memory (rows of a tensor or
    list) and elements of a penstock dataset, which prefetches them, are not reported.
    """
    if loader.num_workers or loader.in_memory or loader.pipeline is not None:
        return
    workers = f"num_workers={min(_cpus(), _MANY)}"
    drop_in = "" if loader.ours else ", or use penstock.DataLoader, whose workers are threads"
    yield "each batch is loaded while the training loop waits", f"pass {workers}{drop_in}"


@loader_rule("PS029")
def loader_without_pinned_memory(loader: LoaderView) -> Said:
    """A `DataLoader` does not pin memory, although there is an accelerator.

    **Why is this bad?** Copies of batches to the accelerator are slower, and the loop waits for
    them.

    **Instead of**::

        DataLoader(dataset, batch_size=32, num_workers=4)

    **write**::

        DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)

    and ``batch.to(device, non_blocking=True)`` in the loop.

    **When to ignore it.** The model runs on the CPU, or batches are created on the accelerator.
    """
    if not loader.pin_memory and has_accelerator() and not loader.in_memory:
        yield "batches are copied to the accelerator from pageable memory", "pass pin_memory=True"


@loader_rule("PS030")
def loader_that_restarts_its_workers(loader: LoaderView) -> Said:
    """The worker processes of a `DataLoader` start again in each epoch.

    **Why is this bad?** Each epoch starts with a delay: processes start, import modules and receive
    the dataset.

    **Instead of**::

        DataLoader(dataset, batch_size=32, num_workers=4)

    **write**::

        DataLoader(dataset, batch_size=32, num_workers=4, persistent_workers=True)

    **When to ignore it.** There is only one epoch, or the loop changes the dataset between epochs.
    Running workers would not see the change.
    """
    if loader.num_workers and loader.processes and not loader.persistent_workers:
        yield "its worker processes start again in each epoch", "pass persistent_workers=True"


@loader_rule("PS031")
def loader_with_more_workers_than_cpus(loader: LoaderView) -> Said:
    """A `DataLoader` has more worker processes than there are CPUs.

    **Why is this bad?** They compete for the CPUs, and each uses memory for its copy of the
    dataset.

    **Instead of**::

        DataLoader(dataset, num_workers=16)  # on 4 CPUs

    **write**::

        DataLoader(dataset, num_workers=4)

    **When to ignore it.** Workers mostly wait for a network. The threads of `penstock.DataLoader`
    need less memory for that.
    """
    if loader.processes and loader.num_workers > _cpus():
        yield (
            f"its {loader.num_workers} worker processes share {processors():.3g} CPUs",
            f"pass num_workers={_cpus()}",
        )

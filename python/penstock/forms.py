"""The forms that a dataset takes elsewhere, in trainers and in a pickle; a source made of several.

What makes them stands on top of Dataset. This module is the door to it, and the only one that
imports what is above it: in its functions, and for types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from penstock.arguments.checked import checked_methods
from penstock.iterator import Iterator
from penstock.on_error import MAX_ERRORS, OnError
from penstock.paths import Names
from penstock.stages.file_shards import Remainder
from penstock.stages.shard import Shard

_D = TypeVar("_D", bound="Forms")

if TYPE_CHECKING:
    from penstock.adapters.batches import Batches
    from penstock.adapters.jax import JaxBatches
    from penstock.lint import Finding
    from penstock.profiling import Profile


@checked_methods
class Forms(Shard):
    """Mixin: what others take instead of a dataset, and a source that is made of datasets."""

    __slots__ = ()

    @classmethod
    def from_image_folder(
        cls,
        path: Names,
        image_size: int | Sequence[int] | None = (256, 256),
        *,
        labels: Sequence[Any] | str | None = "inferred",
        label_mode: str | None = "int",
        class_names: Sequence[str] | None = None,
        color_mode: str = "rgb",
        batch_size: int | None = None,
        shuffle: bool = True,
        seed: int | None = None,
        validation_split: float | None = None,
        subset: str | None = None,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        follow_links: bool = False,
        name: str | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Read the images of a folder, whose subfolders are classes.

        Parameters
        ----------
        path : str or path
            The folder. Files whose names end with ``.jpg``, ``.jpeg``, ``.png``, ``.bmp``, ``.gif``
            and ``.webp`` are images, also those in folders within a subfolder.
        image_size : int or (int, int), optional
            Height and width that images are resized to, pixels; None leaves them as they are.
        labels : "inferred", None, or sequence
            "inferred" numbers the subfolders in order of their names; None gives images alone, of
            the folder itself too; else one for each file, in order of their paths.
        label_mode : str, optional
            "int" for int64, "categorical" for a row of float32 with a 1, "binary" for float32 of
            shape ``(1,)``, None for images alone.
        class_names : sequence of str, optional
            The subfolders to read, in the order of their numbers; None takes all.
        color_mode : str
            "grayscale", "rgb" or "rgba": 1, 3 or 4 channels.
        batch_size : int, optional
            Images in a batch; None gives them one by one.
        shuffle : bool
            Whether all files are shuffled again in each epoch; else they come in order of classes
            and names.
        seed : int, optional
            Seed of the shuffle, and of what is for validation.
        validation_split : float, optional
            The share of the files that is for validation: the last ones, after a shuffle by `seed`.
        subset : str, optional
            "training", "validation", or "both" for a pair of datasets.
        interpolation : str
            A method of `image.resize`.
        crop_to_aspect_ratio : bool
            Cut the middle with the ratio of `image_size` out, instead of changing the ratio.
        pad_to_aspect_ratio : bool
            Add zeros instead.
        follow_links : bool
            Whether to follow links to folders; each real folder is read once.
        name : str, optional
            Names the stage in errors, `Iterator.stats` and traces.
        on_error : "raise", "skip", "log" or callable
            What to do with a file that cannot be read or decoded: see :doc:`/guides/errors`.
        max_errors : int, optional
            The most errors in a row to leave out, >= 1; None means any number.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        Dataset
            Of images, or pairs of images and labels. Images are float32 of shape
            ``(height, width, channels)`` in 0 to 255; uint8 for "nearest" and where they are not
            resized. Its `class_names` and `file_paths` say more, also of each of a pair.

        Raises
        ------
        OSError
            If the folder cannot be read.
        ValueError, TypeError
            If an argument is wrong, or there are no images.
        DataError
            While iterating, at the position of a file that is no image; the next one follows.

        Notes
        -----
        Names and defaults are those of Keras' `image_dataset_from_directory`, but for `batch_size`,
        the shuffle (of all files here), and int64 for int32. A seed divides files as it does there.

        Folders are listed once, at the call. Hidden files and folders are skipped: names that begin
        with a dot, and ``__MACOSX``. Files are read and decoded in parallel, in order. The content
        of a file decides which format it has, not its name. JPEG and PNG are decoded without the
        GIL; GIF, BMP and WebP need Pillow.

        Examples
        --------
        >>> image = ps.io.encode_png(np.ones((4, 4, 3), np.uint8))
        >>> for kind in ("cat", "dog"):
        ...     ps.io.write_file(f"pets/{kind}/0.png", image)
        >>> ds = ps.Dataset.from_image_folder("pets", image_size=(2, 2), shuffle=False)
        >>> ds.class_names
        ['cat', 'dog']
        >>> [(image.shape, label) for image, label in ds]
        [((2, 2, 3), np.int64(0)), ((2, 2, 3), np.int64(1))]
        """
        from penstock.sources.folders import image_folder

        return image_folder(
            path,
            image_size,
            labels=labels,
            label_mode=label_mode,
            class_names=class_names,
            color_mode=color_mode,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=seed,
            validation_split=validation_split,
            subset=subset,
            interpolation=interpolation,
            crop_to_aspect_ratio=crop_to_aspect_ratio,
            pad_to_aspect_ratio=pad_to_aspect_ratio,
            follow_links=follow_links,
            name=name,
            on_error=on_error,
            max_errors=max_errors,
        )

    def distribute(
        self: _D,
        *,
        engine: Literal["ray", "local"] = "ray",
        num_workers: int,
        split: int | Literal["auto"] = "auto",
        deterministic: bool = True,
        lease_timeout: float = 60.0,
        shared: bool = False,
        name: str | None = None,
        num_consumers: int | None = None,
        consumer_index: int | None = None,
        **options: Any,
    ) -> _D:
        """Have the elements made by workers: Ray actors on any number of hosts, or threads.

        Parameters
        ----------
        engine : "ray" or "local"
            "ray": actors of the Ray that this process is connected to; one on this host is started
            where there is none. "local": threads of this process, for trying things out.
        num_workers : int
            How many workers, >= 1. Each runs the pipeline in one thread.
        split : int or "auto"
            Elements in a lease, the part of the order that a worker makes at a time. "auto" takes
            as many as take 0.25 s, of 16 MB at most.
        deterministic : bool
            Whether elements come in the order of one process. False gives those first that are
            there first, a lease at a time.
        lease_timeout : float
            Seconds after which a lease that a worker has is given to another one, too. With
            `shared`, also those after which a consumer of which nothing is heard counts as dead.
        shared : bool
            Whether consumers with the same `name` share one job: what workers make is made once for
            all of them.
        name : str, optional
            Of the shared job. Without `shared` it names the stage, as everywhere.
        num_consumers : int, optional
            How many consumers share the job, >= 1; needed with `shared`. Nothing that has been made
            is let go of before they have all come.
        consumer_index : int, optional
            Which of the consumers this one is, from 0 on; needed with `shared`.
        **options
            For the actors: `num_cpus`, `num_gpus`, `resources`, `scheduling_strategy`,
            `runtime_env` and others of Ray's ``Actor.options``.

        Returns
        -------
        Dataset
            The same elements. Stages before it run in the workers, those after it in this process.

        Raises
        ------
        ModuleNotFoundError
            If Ray is not installed.
        ValueError, TypeError
            If an argument is wrong; "local" has no options. While iterating, if consumers of one
            name have other pipelines or another number, or begin elsewhere the first time.
        WorkerError
            While iterating, if a lease was lost with five workers, or workers cannot be started.

        Notes
        -----
        Exactly once: each element is delivered once, whatever becomes of workers. What a worker
        loses (a kill, the loss of its host, a partition) is made again by another one, and of two
        results for one lease the first is taken. So functions may be *called* more than once for an
        element; random operations of penstock draw the same numbers each time.

        Order and randomness: those of the pipeline without this stage, however many workers there
        are.

        Cost: every worker goes through the whole order, and passes over what others make: the
        functions of `map`, and `batch`, cost nothing there. So does everything before them that can
        jump (rows in memory, tables, indexed files, `shuffle` and `global_shuffle` over them,
        `take`, `skip`, `repeat`, `enumerate`, `zip`). Files that are read in order are read by
        all. What comes from a `filter`, `flat_map`, `interleave`, `unbatch`, `scan` or generator
        is computed by all workers: put what is expensive into a `map` after it. A `cache` in memory
        is filled in every worker, and lasts as long as the iterator.

        Errors: an exception of a function is raised at the element's position as itself; its cause
        is the trace in the worker. If you go on, what workers had made after it is made again.

        States: they are those of the pipeline without this stage, and serve any number of workers.
        With ``deterministic=False`` a state also has the ranges that came before their turn; then
        it serves pipelines with this stage only. Stages after this one that must pull elements
        again to restore a state (`shuffle`, for example) get them in order in spite of it.

        Shared: every consumer gets *all* elements, in order. With ``shard_evenly(n, i)`` (or
        `shard_for_torch`, `shard_for_jax`) after this stage each has its own share, as many
        elements as the others, and a state of any of them serves any number of processes. Consumers
        are processes that are connected to one Ray, or, with "local", iterators of one process,
        each of a pipeline that was built for it. They begin at one position, which means with the
        same seed or a `shard_evenly` after this stage, and with one state. A fast one waits once it
        is 16 leases before the slowest; one that stops early or dies holds up no one, and its share
        is not given to others. One that comes late, or was cut off or started again, makes what it
        needs by a job of its own.

        Examples
        --------
        >>> ds = ps.Dataset.range(10).map(lambda x: x * x).batch(4)
        >>> for batch in ds.distribute(engine="local", num_workers=2).map(lambda x: x + 1):
        ...     print(batch)
        [ 1  2  5 10]
        [17 26 37 50]
        [65 82]
        """
        from penstock.distribution.work import distributed

        how = (deterministic, lease_timeout, shared, name, num_consumers, consumer_index)
        made: _D = distributed(self, engine, num_workers, split, *how, options)
        return made

    def __iter__(self) -> Iterator:
        if self._options.warn:
            from penstock.lint import warn_once

            warn_once(self)
        return super().__iter__()

    def lint(self) -> list[Finding]:
        """Find mistakes in the pipeline before it runs.

        Returns
        -------
        list of Finding
            Named tuples of `rule` (a code), `stage`, `message` and `fix`, those of the source
            first; empty when nothing is found.

        Notes
        -----
        The rules look at the order of the stages, at the names that functions use, and at types and
        sizes of elements; where these are not known the first element is computed, as for
        `element_spec`, and before a `batch` up to 16 elements. ``python -m penstock explain`` lists
        the rules, and shows the page of one.

        Examples
        --------
        >>> for finding in ps.Dataset.range(100).repeat(2).shuffle(10).lint():
        ...     print(finding)
        PS001 shuffle: its buffer mixes elements of several epochs; put shuffle before repeat
        """
        from penstock.lint import findings_of

        return findings_of(self)

    def profile(
        self, seconds: float = 5.0, step: Callable[[Any], Any] | float | None = None
    ) -> Profile:
        """Run the pipeline for a while beside a training step, and say what slows it down.

        Parameters
        ----------
        seconds : float
            How long, after the first element.
        step : callable or float, optional
            What is done with each element: a function that gets it; or seconds to sleep, which
            stand for the accelerator. None takes elements as fast as they come.

        Returns
        -------
        Profile
            ``print(profile)`` shows the verdict, a table of the stages and what would help;
            `Profile` has the same as data.

        Raises
        ------
        ValueError
            If the dataset is empty, `seconds` is not above 0, or `step` is below 0.

        Notes
        -----
        The dataset is repeated until the time is over. In a training loop of your own use
        `penstock.profile`.

        Examples
        --------
        >>> import time
        >>> def load(x):
        ...     time.sleep(0.002)
        ...     return x
        >>> profile = ps.Dataset.range(1000).map(load).profile(seconds=0.5, step=0.001)
        >>> profile.bottleneck.kind, profile.bottleneck.function
        ('io', 'load')
        """
        from penstock.profiling import profile_dataset

        return profile_dataset(self, seconds, step)

    def to_torch(
        self,
        device: Any = None,
        *,
        pin: bool | Literal["auto"] = "auto",
        prefetch: int = 2,
    ) -> Batches:
        """Return the elements with tensors instead of arrays, made ahead of use.

        Parameters
        ----------
        device : torch.device, str or int, optional
            Where tensors are to be; None is the CPU, "cuda" the current device of this thread.
        pin : bool or "auto"
            On a CUDA device: whether elements are copied there ahead of use, through page-locked
            memory. False copies them as ``tensor.to(device)`` does, when they are asked for.
            "auto" is True on a CUDA device and False elsewhere.
        prefetch : int
            Elements (after `batch`: batches) to have ready, >= 0; AUTOTUNE (-1) chooses. On the CPU
            a dataset that ends with `prefetch` is not changed.

        Returns
        -------
        iterable
            Can be looped over again; ``len()`` as the dataset. Its iterators have ``state_dict()``,
            ``load_state_dict()``, ``get_state()``, ``set_state()``, ``stats()`` and ``close()``.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.
        ValueError
            If `pin` is another value, or True where the device is no CUDA device; if `prefetch` is
            less than -1. For a device that does not exist, PyTorch's own error.
        TypeError
            While iterating, if torch has no such dtype (datetime64, longdouble); it names the leaf.

        Notes
        -----
        Memory: on the CPU, a tensor shares the memory of the batch, which is used again only when
        neither tensors nor views of them refer to it. What must not be written to (elements that
        come from a cache, or rows of an array of yours that no `batch` has gathered) is copied,
        because torch has no read-only tensors.

        Strings and objects stay as they are, and so do tuples, dicts, named tuples and dataclasses.
        The position of a state is that of the consumer, whatever was made ahead.

        Examples
        --------
        >>> ds = ps.Dataset.range(5).map(lambda x: {"x": x, "name": f"{x}"}).batch(3)
        >>> for batch in ds.to_torch():
        ...     print(batch["x"], batch["name"])
        tensor([0, 1, 2]) ['0' '1' '2']
        tensor([3, 4]) ['3' '4']
        """
        from penstock.adapters.frameworks import framework
        from penstock.adapters.torch import torch_batches

        return torch_batches(framework("to_torch", "torch"), self, device, pin, prefetch)

    def to_torch_iterable(self, *, prefetch: int = 2) -> Any:
        """Return a ``torch.utils.data.IterableDataset``, for code that wants a ``DataLoader``.

        Parameters
        ----------
        prefetch : int
            As in `to_torch`.

        Returns
        -------
        torch.utils.data.IterableDataset
            Gives what ``to_torch()`` gives. It can be pickled if the dataset can, and has
            ``state_dict()`` and ``load_state_dict()``: the position after the last element of the
            pass that was begun last.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.

        Warns
        -----
        RuntimeWarning
            In the first worker of a ``DataLoader`` with ``num_workers`` > 0: the pipeline has
            threads of its own, and needs no workers.

        Notes
        -----
        Give batches to ``DataLoader(..., batch_size=None)``; with another `batch_size` it stacks
        elements one by one.

        Workers: each runs the whole pipeline and keeps every n-th element, so that each element
        comes once; that is the more work the more workers there are. Seeds that the pipeline does
        not name come from torch's (``torch.manual_seed``), the same in all workers of a pass.

        Randomness: workers that are not persistent begin again in each pass, so that a `shuffle`
        with a seed gives the order of its first epoch each time.

        A state saved after the end of a pass is that of a new pass.

        Examples
        --------
        >>> import torch
        >>> ds = ps.Dataset.range(5).batch(3)
        >>> list(torch.utils.data.DataLoader(ds.to_torch_iterable(), batch_size=None))
        [tensor([0, 1, 2]), tensor([3, 4])]
        """
        from penstock.adapters.frameworks import framework
        from penstock.adapters.torch_iterable import torch_iterable

        framework("to_torch_iterable", "torch")  # so that it is missed here
        return torch_iterable(self, prefetch)

    def to_jax(
        self,
        sharding: Any = None,
        *,
        prefetch: int | str = "auto",
        drop_remainder: bool | None = None,
        pad: bool | str | None = None,
        global_batch: int | None = None,
        sharded: bool | None = None,
    ) -> JaxBatches:
        """Give the batches as jax.Arrays that are on their devices before they are asked for.

        Parameters
        ----------
        sharding : jax.Device, jax.sharding.Sharding or a nesting of them, optional
            Where the arrays go: to one device, or spread over several, as
            ``NamedSharding(mesh, PartitionSpec("data"))`` says. A nesting (dict, tuple,
            dataclass) has the keys of a batch; a sharding at a key holds for all leaves under it.
            None, also within a nesting, is the default device of the thread that calls ``iter``.
        prefetch : int or "auto"
            Batches to have on the device ahead of use, put there by a thread of the run; 0 does all
            when a batch is asked for. "auto": 1 on a TPU and 2 on a GPU; on a CPU 2 are loaded
            ahead, and become jax.Arrays when they are asked for, since that copies nothing.
        drop_remainder : bool, optional
            Leave out every batch with fewer rows than the first one, wherever it comes, so that a
            jitted step is compiled once and the rows can be spread evenly; two of them in a row,
            or one with more rows, are an error. False gives batches of all sizes as they are, which
            those of `bucket_by_sequence_length` need when its sizes differ. None: as True, but
            after ``shard_for_jax(evaluation=True)`` such a batch is filled up with zeros, for
            which the mask that it has already is False.
        pad : bool or str, optional
            Fill such a batch up instead, with zeros (and empty strings), and add a mask to every
            batch: True for rows of the dataset, False for those filled up. In a dict it is the leaf
            of this key (True: "valid"), joined with a mask that is there already; after a tuple or
            a single array it comes last, which for ``(x, y)`` is the position of weights.
        global_batch : int, optional
            Rows of a full batch in all processes together, for messages, `drop_remainder` and
            `pad` where a process may not have a full one to begin with. None: the first batch of
            each process is full.
        sharded : bool, optional
            Whether each process has different rows, if `sharding` spreads a batch over several
            processes. None: warn if the pipeline has no `shard_for_jax`, `shard_evenly` or `shard`.
            True: the data is divided outside of these stages (each process reads other files, or
            its generator divides the data). False: all processes read the same rows on purpose.

        Returns
        -------
        JaxBatches
            Can be looped over again; has a length if it is known. With `drop_remainder` it is not
            after `map`, which may change the number of rows, unless the ``output_signature`` there
            fixes it.

        Raises
        ------
        TypeError
            At once, if an argument is of a wrong type. While iterating, if JAX has no dtype for a
            leaf (times, long doubles), if `sharding` is not nested as the batches are, or if `pad`
            finds no room for the mask (in named tuples and dataclasses).
        ValueError
            At once, if a number is out of range. While iterating, if rows cannot be divided among
            the devices, or sizes of batches vary though `drop_remainder` or `pad` is given.

        Warns
        -----
        RuntimeWarning
            If `sharding` spreads batches over several processes and no stage divides the data among
            them, unless `sharded` is given.

        Notes
        -----
        A batch is an element of this dataset: put `batch` before. Containers stay what they are;
        those that are no pytrees (dataclasses) need not be registered. Strings and opaque objects
        stay NumPy arrays.

        64-bit leaves become 32-bit ones, silently, unless ``jax_enable_x64`` is set: the rule of
        ``jnp.asarray``.

        On a CPU device no copy is made: the arrays lie where the pipeline wrote them, and that
        memory is not used again before JAX has released it. Leaves that another owner can still
        change (arrays given to `from_tensors`) are copied.

        In a program of several processes (``jax.distributed``) a sharding over devices of all of
        them makes global arrays, of which each process gives the share of its own devices
        (``jax.make_array_from_process_local_data``). All must then give as many batches, of the
        same sizes.

        The position that `get_state` of an iterator returns is after the last batch that was
        taken; those made ahead do not count.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": np.arange(10.0), "y": np.arange(10)}).batch(4)
        >>> for batch in ds.to_jax():
        ...     print(batch["x"], batch["y"].dtype)
        [0. 1. 2. 3.] int32
        [4. 5. 6. 7.] int32
        >>> [batch["valid"].sum().item() for batch in ds.to_jax(pad=True)]
        [4, 4, 2]
        """
        from penstock.adapters.jax import jax_batches

        how = (prefetch, drop_remainder, pad, global_batch, sharded)
        return jax_batches(self, sharding, *how)

    def to_keras(
        self,
        *,
        steps_per_epoch: int | None = None,
        class_weight: Mapping[int, float] | None = None,
        prefetch: int = 2,
    ) -> Any:
        """Make what ``fit``, ``evaluate`` and ``predict`` of Keras 3 take as ``x``.

        Parameters
        ----------
        steps_per_epoch : int, optional
            Batches in an epoch, >= 1; the next epoch goes on after them, over as many passes as it
            takes. None: an epoch is one pass over the dataset. An infinite dataset needs it.
        class_weight : dict from int to float, optional
            Weights of classes, as ``fit`` takes them for arrays; 1 for classes that are not named.
            ``y`` holds numbers of classes, of shape ``(batch,)`` or ``(batch, 1)``, or is one-hot.
        prefetch : int
            Batches to have ready, prepared in their own thread; AUTOTUNE (-1) chooses, 0 prepares
            them in the thread that trains.

        Returns
        -------
        KerasData
            For ``x`` and ``validation_data``, as often as wanted and on each backend (JAX, PyTorch,
            TensorFlow, NumPy, OpenVINO). ``close()``, or the end of a ``with`` block, stops its
            threads; ``wait_seconds`` is the time that Keras has waited for batches.
            ``backup_and_restore(folder)`` returns a ``BackupAndRestore`` callback that also keeps
            the position of the data. ``get_state`` and ``set_state`` (or ``state_dict`` and
            ``load_state_dict``) save and restore it without the callback.

        Raises
        ------
        ImportError
            If Keras 3 is not installed.
        TypeError, ValueError
            If an argument is wrong, or the dataset is infinite (without `steps_per_epoch`) or
            empty. Once Keras asks for batches, if an element is not ``x``, ``(x, y)`` or
            ``(x, y, sample_weight)``, has no batch axis, or has strings that the backend cannot
            take; and if ``fit`` was given an argument that Keras would drop.

        Notes
        -----
        Elements: each is a batch; ``x`` and ``y`` may be nested tuples, dicts and dataclasses
        (which become dicts). Strings are for the TensorFlow backend alone.

        Epochs: each is a new iteration of the dataset, so that reshuffling goes on. The first
        ``fit`` of a model takes a batch in advance, for which Keras starts one iteration more.
        With ``fit(steps_per_epoch=...)`` Keras continues an iteration in the next epoch, until the
        dataset is at its end, as it does with tf.data.

        Threads: they end with the iteration; one that was broken off (Ctrl-C, an error of the
        model) is kept by Keras until Python collects its objects, or until ``close()``.

        Memory: JAX and NumPy get the very arrays of the dataset, PyTorch tensors over the same
        memory, and TensorFlow tensors that its ``from_generator`` makes. The TensorFlow backend
        needs the shapes in advance, from `element_spec`; what that does not know after a function
        is taken from the first batch, and a batch of another shape is an error.

        Examples
        --------
        >>> import keras
        >>> x, y = np.random.rand(100, 4).astype("f"), np.arange(100) % 2
        >>> ds = ps.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(32)
        >>> model = keras.Sequential([keras.layers.Dense(2)])
        >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        >>> history = model.fit(ds.to_keras(), epochs=2, verbose=0)
        >>> len(history.history["loss"])
        2
        """
        from penstock.adapters.keras import keras_data

        return keras_data(self, steps_per_epoch, class_weight, prefetch)

    def shard_for_torch(
        self: _D,
        remainder: Remainder | None = None,
        *,
        group: Any = None,
        seed: int = 0,
        mask_key: str = "valid",
        by: Literal["elements", "files"] = "elements",
        evaluation: bool = False,
    ) -> _D:
        """Give the share of this process of PyTorch: `shard_evenly` by its rank.

        Parameters
        ----------
        remainder, seed, mask_key, by, evaluation
            As in `shard_evenly`.
        group : torch.distributed.ProcessGroup, optional
            The processes that share the elements; None: all.

        Returns
        -------
        Dataset
            As many elements as in every other process.

        Raises
        ------
        ValueError
            If this process is not in `group`, or RANK and WORLD_SIZE say nothing sensible.

        Notes
        -----
        Rank and number of processes are those of ``torch.distributed``, once
        ``init_process_group`` was called; before, those of the environment variables RANK and
        WORLD_SIZE, as torchrun sets them; without these, there is one process. PyTorch itself is
        not imported.

        Examples
        --------
        >>> ds = ps.Dataset.range(100).shuffle(100).shard_for_torch().batch(10)
        >>> len(ds)  # in one process
        10
        """
        from penstock.adapters.processes import torch_processes

        count, rank = torch_processes(group)
        how: dict[str, Any] = {"mask_key": mask_key, "by": by, "evaluation": evaluation}
        return self.shard_evenly(count, rank, remainder, seed=seed, **how)

    def shard_for_jax(
        self: _D,
        remainder: Remainder | None = None,
        *,
        seed: int = 0,
        mask_key: str = "valid",
        by: Literal["elements", "files"] = "elements",
        evaluation: bool = False,
    ) -> _D:
        """Give the share of this process of JAX: `shard_evenly` by ``jax.process_index()``.

        Parameters
        ----------
        remainder, seed, mask_key, by, evaluation
            As in `shard_evenly`.

        Returns
        -------
        Dataset
            As many elements as in every other process.

        Raises
        ------
        ModuleNotFoundError
            Without JAX.

        Notes
        -----
        Call ``jax.distributed.initialize`` first. With ``batch(n, drop_remainder=True)`` after it
        every process has n rows of each global batch of ``n * jax.process_count()``.
        """
        from penstock.adapters.processes import jax_processes

        count, index = jax_processes()
        how: dict[str, Any] = {"mask_key": mask_key, "by": by, "evaluation": evaluation}
        return self.shard_evenly(count, index, remainder, seed=seed, **how)

    def __reduce__(self) -> tuple[Any, ...]:
        from penstock.pickling import reduced

        return reduced(self)

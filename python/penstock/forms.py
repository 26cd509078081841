"""Conversions of datasets to trainers and pickles, and the source that reads image folders.

The implementations are built on Dataset. Only this module imports them, and only inside its
functions and for types.
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
    """Mixin with conversions to other libraries, and a source that consists of other datasets."""

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
        """Read the images of a folder whose subfolders are classes.

        Parameters
        ----------
        path : str or path
            The folder. Files whose names end in ``.jpg``, ``.jpeg``, ``.png``, ``.bmp``, ``.gif``
            or ``.webp`` are images. Folders nested within a subfolder are read too.
        image_size : int or (int, int), optional
            Height and width to resize images to, in pixels. None keeps the original sizes.
        labels : "inferred", None, or sequence
            "inferred" numbers the subfolders in order of their names. None yields images without
            labels, including those directly in the folder. A sequence has one label for each file,
            in order of their paths.
        label_mode : str, optional
            "int" for int64, "categorical" for a one-hot row of float32, "binary" for float32 of
            shape ``(1,)``, None for images without labels.
        class_names : sequence of str, optional
            The subfolders to read, in the order of their class numbers. None reads all.
        color_mode : str
            "grayscale", "rgb" or "rgba": 1, 3 or 4 channels.
        batch_size : int, optional
            Images in a batch. None yields individual images.
        shuffle : bool
            Whether to reshuffle all files in each epoch. Otherwise they are ordered by class and
            name.
        seed : int, optional
            Seed of the shuffle and of the validation split.
        validation_split : float, optional
            The fraction of the files reserved for validation: the last ones, after a shuffle by
            `seed`.
        subset : str, optional
            "training", "validation", or "both" for a pair of datasets.
        interpolation : str
            A method of `image.resize`.
        crop_to_aspect_ratio : bool
            Crop the centre to the aspect ratio of `image_size` instead of distorting the image.
        pad_to_aspect_ratio : bool
            Pad with zeros instead.
        follow_links : bool
            Whether to follow links to folders. Each real folder is read once.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        on_error : "raise", "skip", "log" or callable
            What to do with a file that cannot be read or decoded: see :doc:`/guides/errors`.
        max_errors : int, optional
            Maximum number of consecutive errors to skip, >= 1. None means no limit.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`. They also apply to all later URLs in the
            same folder.

        Returns
        -------
        Dataset
            Images, or pairs of an image and a label. Images are float32 of shape
            ``(height, width, channels)`` with values from 0 to 255. They are uint8 for "nearest",
            and if they are not resized. Each dataset, also each of a pair, has the attributes
            `class_names` and `file_paths`.

        Raises
        ------
        OSError
            If the folder cannot be read.
        ValueError, TypeError
            If an argument is invalid, or there are no images.
        DataError
            While iterating, at the position of a file that is not an image. The next file follows.

        Notes
        -----
        Names and defaults are the same as in Keras' `image_dataset_from_directory`, except for
        `batch_size`, the shuffle (which covers all files here), and int64 instead of int32. A seed
        splits the files as it does in Keras.

        Folders are listed once, when the function is called. Hidden files and folders, whose names
        start with a dot, are skipped, as is ``__MACOSX``. Files are read and decoded in parallel,
        and yielded in order. The format is detected from the content of a file, not from its name.
        JPEG and PNG are decoded without the GIL; GIF, BMP and WebP need Pillow.

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
        """Run the pipeline in workers: Ray actors on any number of hosts, or threads.

        Parameters
        ----------
        engine : "ray" or "local"
            "ray": actors of the Ray cluster that this process is connected to. Without one, a
            local Ray is started. "local": threads of this process, for experiments.
        num_workers : int
            Number of workers, >= 1. Each runs the pipeline in one thread.
        split : int or "auto"
            Elements in a lease, the range of elements that is assigned to a worker as one unit.
            "auto" chooses a size that takes 0.25 s to produce, up to 16 MB.
        deterministic : bool
            Whether elements are yielded in the order of a single process. False yields leases in
            the order in which they are completed.
        lease_timeout : float
            Seconds after which an unfinished lease is also assigned to another worker. With
            `shared`, also the seconds after which a silent consumer is considered dead.
        shared : bool
            Whether consumers with the same `name` share one job, in which each element is produced
            once for all of them.
        name : str, optional
            Name of the shared job. Without `shared`, the name of the stage, as for other stages.
        num_consumers : int, optional
            Number of consumers that share the job, >= 1; required with `shared`. Nothing that was
            produced is released before all of them have connected.
        consumer_index : int, optional
            Index of this consumer, starting at 0; required with `shared`.
        **options
            Options for the actors: `num_cpus`, `num_gpus`, `resources`, `scheduling_strategy`,
            `runtime_env` and others of Ray's ``Actor.options``.

        Returns
        -------
        Dataset
            The same elements. Stages before this one run in the workers, later stages in this
            process.

        Raises
        ------
        ModuleNotFoundError
            If Ray is not installed.
        ValueError, TypeError
            If an argument is invalid, or "local" is used with options for actors. While iterating,
            if consumers with the same name have different pipelines or a different number of
            consumers, or start at different positions the first time.
        WorkerError
            While iterating, if a lease was lost by five workers, or workers cannot be started.

        Notes
        -----
        Exactly once: each element is delivered once, even if workers fail. If a worker is killed,
        loses its host or is partitioned, another worker reproduces its elements. If a lease has two
        results, the first is used. Functions may therefore be *called* more than once for an
        element; penstock's random operations draw the same numbers each time.

        Order and randomness are the same as without this stage, for any number of workers.

        Cost: every worker iterates over all positions, and skips those of other workers. Skipping
        does not call the functions of `map`, and costs nothing in `batch`. It also costs nothing in
        earlier stages that can jump: rows in memory, tables, indexed files, `shuffle` and
        `global_shuffle` over them, `take`, `skip`, `repeat`, `enumerate` and `zip`. Files that are
        read sequentially are read by all workers. The results of `filter`, `flat_map`,
        `interleave`, `unbatch`, `scan` and generators are computed by all workers, so put expensive
        work into a `map` after them. A `cache` in memory is filled in every worker, and lasts as
        long as the iterator.

        Errors: an exception in a function is raised unchanged at the element's position. Its cause
        is the traceback in the worker. If iteration continues, the elements after it are
        reproduced.

        States are the same as without this stage, and can be restored with any number of workers.
        With ``deterministic=False``, a state also contains the ranges that were delivered early,
        so only pipelines with this stage accept it. Later stages that must pull elements again
        to restore a state, such as `shuffle`, then receive them in order.

        Shared jobs: every consumer receives *all* elements, in order. Put ``shard_evenly(n, i)``
        (or `shard_for_torch`, `shard_for_jax`) after this stage to divide them equally; a state of
        any consumer then restores any number of processes. Consumers are processes connected to the
        same Ray cluster. With "local" they are iterators of one process, each of a separately built
        pipeline. All consumers must start at the same position: with the same seed or a
        `shard_evenly` after this stage, and from the same state. A fast consumer waits once it is
        16 leases ahead of the slowest. One that stops early or dies does not block the others, and
        its share is not reassigned. One that connects late, was disconnected or was restarted
        produces its elements in a separate job.

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
            Named tuples of `rule` (a code), `stage`, `message` and `fix`, in order from the source
            to the last stage. Empty if there are no findings.

        Notes
        -----
        The rules examine the order of the stages, the names that functions use, and the types and
        sizes of elements. If these are unknown, the first element is computed, as for
        `element_spec`; before a `batch`, up to 16 elements. ``python -m penstock explain`` lists
        the rules, or shows the documentation of one.

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
        """Run the pipeline for a few seconds with a training step, and find the bottleneck.

        Parameters
        ----------
        seconds : float
            Duration of the run, in seconds after the first element.
        step : callable or float, optional
            The training step: a function that is called with each element, or the seconds to sleep
            in place of an accelerator. None consumes elements as fast as possible.

        Returns
        -------
        Profile
            ``print(profile)`` shows the verdict, a table of the stages and suggestions. The
            attributes of `Profile` contain the same data.

        Raises
        ------
        ValueError
            If the dataset is empty, `seconds` is not above 0, or `step` is below 0.

        Notes
        -----
        The dataset is repeated until the time is over. To profile your own training loop, use
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
        """Return an iterable over the elements as tensors, which are prepared ahead of use.

        Parameters
        ----------
        device : torch.device, str or int, optional
            Device of the tensors. None is the CPU; "cuda" is the current device of this thread.
        pin : bool or "auto"
            Whether to copy elements to a CUDA device ahead of use, through page-locked memory.
            False copies each element when it is requested, as ``tensor.to(device)`` does. "auto" is
            True for a CUDA device and False otherwise.
        prefetch : int
            Elements (after `batch`: batches) to prepare ahead, >= 0; AUTOTUNE (-1) chooses the
            number. On the CPU, a dataset that ends with `prefetch` is used unchanged.

        Returns
        -------
        iterable
            Can be iterated repeatedly, and has the same ``len()`` as the dataset. Its iterators
            have ``state_dict()``, ``load_state_dict()``, ``get_state()``, ``set_state()``,
            ``stats()`` and ``close()``.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.
        ValueError
            If `pin` has another value, or is True and the device is not a CUDA device; if
            `prefetch` is less than -1. For a device that does not exist, PyTorch raises its own
            error.
        TypeError
            While iterating, if torch has no equivalent dtype (datetime64, longdouble). The message
            names the leaf.

        Notes
        -----
        Memory: on the CPU, a tensor shares the memory of the batch. That memory is reused only when
        no tensor or view refers to it. torch has no read-only tensors, so arrays that must not be
        written to are copied: elements from a cache, and rows of your arrays that no `batch` has
        gathered.

        Strings and objects are unchanged, and tuples, dicts, named tuples and dataclasses keep
        their structure. A state contains the position of the consumer, regardless of prefetching.

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
        """Return a ``torch.utils.data.IterableDataset``, for code that needs a ``DataLoader``.

        Parameters
        ----------
        prefetch : int
            As in `to_torch`.

        Returns
        -------
        torch.utils.data.IterableDataset
            Yields the elements of ``to_torch()``. It can be pickled if the dataset can, and has
            ``state_dict()`` and ``load_state_dict()``: the position after the last element of the
            most recently started epoch.

        Raises
        ------
        ModuleNotFoundError
            If PyTorch is not installed.

        Warns
        -----
        RuntimeWarning
            In the first worker of a ``DataLoader`` with ``num_workers`` > 0: the pipeline has its
            own threads, and needs no workers.

        Notes
        -----
        Pass batches to ``DataLoader(..., batch_size=None)``. With another `batch_size`, the
        ``DataLoader`` stacks individual elements.

        Workers: each runs the whole pipeline and keeps every n-th element, so each element is
        yielded once, but the total work grows with the number of workers. Stages without a seed
        use torch's seed (``torch.manual_seed``), which is the same in all workers of an epoch.

        Randomness: workers that are not persistent restart in each epoch, so a `shuffle` with a
        seed repeats the order of its first epoch.

        A state saved after the end of an epoch is the beginning of a new epoch.

        Examples
        --------
        >>> import torch
        >>> ds = ps.Dataset.range(5).batch(3)
        >>> list(torch.utils.data.DataLoader(ds.to_torch_iterable(), batch_size=None))
        [tensor([0, 1, 2]), tensor([3, 4])]
        """
        from penstock.adapters.frameworks import framework
        from penstock.adapters.torch_iterable import torch_iterable

        framework("to_torch_iterable", "torch")  # raises here if torch is missing
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
        """Return an iterable over the batches as jax.Arrays, placed on devices ahead of use.

        Parameters
        ----------
        sharding : jax.Device, jax.sharding.Sharding or a nesting of them, optional
            Placement of the arrays: one device, or several devices, for example with
            ``NamedSharding(mesh, PartitionSpec("data"))``. A nesting (dict, tuple, dataclass) has
            the keys of a batch; a sharding at a key applies to all leaves under it. None, also
            within a nesting, is the default device of the thread that calls ``iter``.
        prefetch : int or "auto"
            Batches to place on the device ahead of use, by a thread of the run. 0 does all work
            when a batch is requested. "auto": 1 on a TPU and 2 on a GPU. On a CPU, 2 batches are
            loaded ahead and become jax.Arrays when they are requested, which copies nothing.
        drop_remainder : bool, optional
            Drop every batch with fewer rows than the first one, wherever it occurs. A jitted step
            is then compiled only once and the rows can be spread evenly. Two such batches in a row,
            or one with more rows, are an error. False yields batches of all sizes unchanged, which
            `bucket_by_sequence_length` needs if its batch sizes differ. None: as True, but after
            ``shard_for_jax(evaluation=True)`` such a batch is padded with zeros, and its existing
            mask is False for them.
        pad : bool or str, optional
            Pad such a batch instead, with zeros (and empty strings), and add a mask to every batch:
            True for rows of the dataset, False for padding. In a dict, the mask is the leaf with
            this key (True: "valid"), combined with a mask that already exists there. After a tuple
            or a single array it is the last item, which for ``(x, y)`` is the position of weights.
        global_batch : int, optional
            Rows of a full batch across all processes. It is used in messages, and by
            `drop_remainder` and `pad` if the first batch of a process may not be full. None: the
            first batch of each process is full.
        sharded : bool, optional
            Whether each process has different rows, if `sharding` spreads a batch over several
            processes. None: warn if the pipeline has no `shard_for_jax`, `shard_evenly` or `shard`.
            True: the data is divided outside of these stages (each process reads other files, or
            its generator divides the data). False: all processes intentionally read the same rows.

        Returns
        -------
        JaxBatches
            Can be iterated repeatedly, and has a length if it is known. With `drop_remainder`, the
            length is unknown after `map`, which may change the number of rows, unless the
            ``output_signature`` there fixes it.

        Raises
        ------
        TypeError
            Immediately, if an argument has the wrong type. While iterating, if JAX has no dtype for
            a leaf (times, long doubles), if `sharding` is not nested like the batches, or if `pad`
            has no place for the mask (in named tuples and dataclasses).
        ValueError
            Immediately, if a number is out of range. While iterating, if rows cannot be divided
            among the devices, or batch sizes vary in a way that `drop_remainder` or `pad` does not
            allow.

        Warns
        -----
        RuntimeWarning
            If `sharding` spreads batches over several processes and no stage divides the data among
            them, unless `sharded` is given.

        Notes
        -----
        Each element of this dataset is a batch, so call `batch` first. Containers are preserved;
        those that are not pytrees (dataclasses) need not be registered. Strings and opaque objects
        remain NumPy arrays.

        64-bit leaves silently become 32-bit, unless ``jax_enable_x64`` is set, as in
        ``jnp.asarray``.

        On a CPU device, arrays share the memory that the pipeline wrote, which is reused only after
        JAX has released it. Only leaves that another owner can still modify, such as arrays passed
        to `from_tensors`, are copied.

        In a program of several processes (``jax.distributed``), a sharding over the devices of all
        processes creates global arrays. Each process contributes the share of its local devices
        (``jax.make_array_from_process_local_data``), and all must yield the same number of batches
        with the same sizes.

        The `get_state` of an iterator returns the position after the last batch that was consumed,
        regardless of prefetching.

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
        """Return the data for ``fit``, ``evaluate`` and ``predict`` of Keras 3, as ``x``.

        Parameters
        ----------
        steps_per_epoch : int, optional
            Batches in an epoch, >= 1. The next epoch continues after them, over as many iterations
            of the dataset as needed. None: an epoch is one iteration. Required for an infinite
            dataset.
        class_weight : dict from int to float, optional
            Weights of classes, as ``fit`` accepts them for arrays; other classes have weight 1.
            ``y`` contains class numbers of shape ``(batch,)`` or ``(batch, 1)``, or is one-hot.
        prefetch : int
            Batches to prepare ahead, in a separate thread. AUTOTUNE (-1) chooses the number; 0
            prepares them in the training thread.

        Returns
        -------
        KerasData
            For ``x`` and ``validation_data``, any number of times and on each backend (JAX,
            PyTorch, TensorFlow, NumPy, OpenVINO). ``close()``, or the end of a ``with`` block,
            stops its threads; ``wait_seconds`` is the time that Keras has waited for batches.
            ``backup_and_restore(folder)`` returns a ``BackupAndRestore`` callback that also saves
            the position of the data. ``get_state`` and ``set_state`` (or ``state_dict`` and
            ``load_state_dict``) save and restore it without the callback.

        Raises
        ------
        ImportError
            If Keras 3 is not installed.
        TypeError, ValueError
            If an argument is invalid, or the dataset is infinite (without `steps_per_epoch`) or
            empty. When Keras requests batches, if an element is not ``x``, ``(x, y)`` or
            ``(x, y, sample_weight)``, has no batch axis, or has strings that the backend does not
            support; also if ``fit`` was called with an argument that Keras would ignore.

        Notes
        -----
        Elements: each is a batch; ``x`` and ``y`` may be nested tuples, dicts and dataclasses
        (which become dicts). Only the TensorFlow backend supports strings.

        Epochs: each is a new iteration of the dataset, so shuffles reshuffle. The first ``fit`` of
        a model requests one batch in advance, for which Keras starts an additional iteration.
        With ``fit(steps_per_epoch=...)``, Keras continues an iteration in the next epoch until the
        dataset ends, as it does with tf.data.

        Threads end with the iteration. An iteration that was interrupted (Ctrl-C, an error in the
        model) is kept alive by Keras until Python collects its objects, or until ``close()``.

        Memory: JAX and NumPy receive the arrays of the dataset, PyTorch receives tensors that share
        their memory, and TensorFlow receives tensors made by its ``from_generator``. The TensorFlow
        backend needs the shapes in advance, from `element_spec`. Shapes that are unknown there
        after a function are taken from the first batch; a batch of another shape is then an error.

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
        """Return this PyTorch process's share of the elements: `shard_evenly` by rank.

        Parameters
        ----------
        remainder, seed, mask_key, by, evaluation
            As in `shard_evenly`.
        group : torch.distributed.ProcessGroup, optional
            The processes that share the elements. None: all processes.

        Returns
        -------
        Dataset
            The same number of elements as in every other process.

        Raises
        ------
        ValueError
            If this process is not in `group`, or RANK and WORLD_SIZE are invalid.

        Notes
        -----
        Rank and number of processes are taken from ``torch.distributed`` once
        ``init_process_group`` was called, and otherwise from the environment variables RANK and
        WORLD_SIZE, which torchrun sets. Without these, there is one process. PyTorch itself is not
        imported.

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
        """Return this JAX process's share of the elements: `shard_evenly` by process index.

        Parameters
        ----------
        remainder, seed, mask_key, by, evaluation
            As in `shard_evenly`.

        Returns
        -------
        Dataset
            The same number of elements as in every other process.

        Raises
        ------
        ModuleNotFoundError
            If JAX is not installed.

        Notes
        -----
        The index is ``jax.process_index()``, so call ``jax.distributed.initialize`` first. After
        ``batch(n, drop_remainder=True)``, every process has n rows of each global batch of
        ``n * jax.process_count()``.
        """
        from penstock.adapters.processes import jax_processes

        count, index = jax_processes()
        how: dict[str, Any] = {"mask_key": mask_key, "by": by, "evaluation": evaluation}
        return self.shard_evenly(count, index, remainder, seed=seed, **how)

    def __reduce__(self) -> tuple[Any, ...]:
        from penstock.pickling import reduced

        return reduced(self)

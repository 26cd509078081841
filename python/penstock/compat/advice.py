"""Replacements for missing TensorFlow names, and better alternatives to some existing ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn

_KERAS = "import keras: Keras 3 has it, and trains from penstock's datasets (Dataset.to_keras)"
_LAYERS = (
    f"{_KERAS}; those of text (TextVectorization, StringLookup) need TensorFlow: write them with "
    "tf.strings and tf.lookup; tf.image has what RandomFlip and others do, and x / 255 is Rescaling"
)
_TRAINING = "training belongs to Keras, JAX or PyTorch, which take penstock's datasets"
_PLACEMENT = "devices belong to the trainer; Dataset.to_jax and to_torch hand batches over"
_TPU = "penstock runs beside the trainer, on the CPUs of its host; Dataset.to_jax feeds TPUs"
_SAVING = "models are saved by what trains them; Dataset.save and it.get_state() save data"
_SERVICE = "there is no service: run the pipeline where it trains, and divide the data with shard"
_ABSL = "use absl.flags and absl.app (pip install absl-py), or argparse"
_GRAPH = "there are no graphs: values are computed at once"
_NUMPY = "use numpy"
_OLD = "it is a name of TensorFlow 1: import penstock.compat.v1 as tf"
_LISTING = (
    "it has what input pipelines need; `python -m penstock port FILE` lists what a program lacks"
)

_PRIVATE = "it is private to TensorFlow; use the public name"
_OF_MODELS = """
    AUTO_REUSE GraphKeys UnconnectedGradients VariableScope add_to_collection add_to_collections
    all_variables assign assign_add assign_sub constant_initializer fixed_size_partitioner
    get_collection get_variable get_variable_scope global_norm global_variables
    glorot_normal_initializer glorot_uniform_initializer initialize_all_variables
    local_variables make_template model_variables ones_initializer orthogonal_initializer
    random_normal_initializer random_uniform_initializer scatter_add trainable_variables
    truncated_normal_initializer uniform_unit_scaling_initializer variable_creator_scope
    variance_scaling_initializer zeros_initializer
"""

_OF_GRAPHS = """
    compat.v1.Event compat.v1.executing_eagerly_outside_functions compat.v1.wrap_function container
    compat.v1.Session.reset compat.v1.sparse_placeholder import_graph_def io.write_graph resource
"""

# Modern replacements for queues.
_QUEUES = {
    "FIFOQueue": "tf.data.Dataset.prefetch reads ahead",
    "FixedLengthRecordReader": "tf.data.FixedLengthRecordDataset reads the files",
    "PaddingFIFOQueue": "tf.data.Dataset.padded_batch does it",
    "RandomShuffleQueue": "tf.data.Dataset.shuffle does it",
    "TFRecordReader": "tf.data.TFRecordDataset reads the files",
    "TextLineReader": "tf.data.TextLineDataset reads the files",
    "WholeFileReader": "tf.data.Dataset.list_files(pattern).map(tf.io.read_file)",
    "queue": "tf.data.Dataset has prefetch, shuffle and padded_batch",
    "train.QueueRunner": "tf.data.Dataset.prefetch reads ahead",
    "train.add_queue_runner": "tf.data.Dataset.prefetch reads ahead",
    "train.batch": "tf.data.Dataset.batch does it",
    "train.batch_join": "tf.data.Dataset.interleave, and then batch",
    "train.input_producer": "tf.data.Dataset.from_tensor_slices(values).shuffle(n).repeat()",
    "train.limit_epochs": "tf.data.Dataset.repeat(number) does it",
    "train.maybe_batch": "tf.data.Dataset.filter, and then batch",
    "train.queue_runner": "tf.data.Dataset.prefetch reads ahead",
    "train.range_input_producer": "tf.data.Dataset.range(number).shuffle(number).repeat()",
    "train.shuffle_batch": "tf.data.Dataset.shuffle, and then batch",
    "train.shuffle_batch_join": "tf.data.Dataset.interleave, and then shuffle and batch",
    "train.slice_input_producer": "tf.data.Dataset.from_tensor_slices(arrays).shuffle(n).repeat()",
    "train.string_input_producer": "tf.data.Dataset.from_tensor_slices(names).shuffle(n).repeat()",
}

# By name or prefix; the longest match applies.
_INSTEAD = {
    **dict.fromkeys(_OF_MODELS.split(), _TRAINING),
    **_QUEUES,
    **{f"compat.v1.{name}": advice for name, advice in _QUEUES.items()},
    "GradientTape": _TRAINING,
    "app": _ABSL,
    "compat.v1.app": _ABSL,
    "compat.v1.estimator": _TRAINING,
    "compat.v1.flags": _ABSL,
    "compat.v1.get_variable": _TRAINING,
    "compat.v1.layers": _KERAS,
    "compat.v1.losses": _TRAINING,
    "compat.v1.metrics": _TRAINING,
    "compat.v1.nn.rnn_cell": _KERAS,
    "compat.v1.saved_model": _SAVING,
    "Summary": "write summaries with tensorboardX or torch.utils.tensorboard",
    "compat.v1.summary": "write summaries with tensorboardX or torch.utils.tensorboard",
    "compat.v1.tpu": _TPU,
    "compat.v1.train": _TRAINING,
    "compat.v1.variable_scope": _TRAINING,
    "compiler": _PRIVATE,
    "python": _PRIVATE,
    "contrib": "tf.contrib ended with TensorFlow 1; tf.contrib.data is tf.data.experimental",
    "custom_gradient": _TRAINING,
    "data.IteratorSpec": "element_spec is a nesting of TensorSpec",
    "data.experimental.distributed_save": _SERVICE,
    "data.experimental.from_variant": "datasets are Python objects, and no variant tensors",
    "data.experimental.get_model_proto": "Iterator.stats() has figures of each stage",
    "data.experimental.make_saveable_from_iterator": "Iterator.get_state() gives bytes to keep",
    "data.experimental.service": _SERVICE,
    "data.experimental.to_variant": "datasets are Python objects, and no variant tensors",
    "debugging.enable_check_numerics": "np.errstate(all='raise') raises at such values",
    "distribute": _PLACEMENT,
    "estimator": _TRAINING,
    "experimental.dtensor": _PLACEMENT,
    "IndexedSlices": _TRAINING,
    **dict.fromkeys(_OF_GRAPHS.split(), _GRAPH),
    "compat.v1.ConfigProto": _GRAPH,
    "compat.v1.GraphDef": _GRAPH,
    "compat.v1.OptimizerOptions": _GRAPH,
    "compat.v1.RunMetadata": _GRAPH,
    "compat.v1.RunOptions": _GRAPH,
    "compat.v1.distributions": _TRAINING,
    "experimental.DynamicRaggedShape": "see rt.bounding_shape() and rt.nested_row_splits",
    "experimental.RowPartition": "rt.row_splits has where rows begin and end",
    "experimental.tensorrt": "converting models belongs to TensorRT",
    "strings.unicode_script": "unicodedata.name(character) begins with the name of its script",
    "experimental.dlpack": "np.from_dlpack and array.__dlpack__ do it",
    "experimental.numpy": _NUMPY,
    "feature_column": "prepare features with functions in map",
    "flags": _ABSL,
    "gradients": _TRAINING,
    "graph_util": _GRAPH,
    "Graph": _GRAPH,
    "initializers": _KERAS,
    "keras": _KERAS,
    "keras.layers": _LAYERS,
    "layers": _LAYERS,
    "linalg": "use np.linalg",
    "lite": "converting models belongs to TensorFlow Lite",
    "losses": _KERAS,
    "math": _NUMPY,
    "metrics": _KERAS,
    "mixed_precision": _KERAS,
    "mlir": _GRAPH,
    "nn": _TRAINING,
    "optimizers": _KERAS,
    "profiler": "Options.trace writes a timeline of the pipeline, and Iterator.stats() has figures",
    "quantization": _TRAINING,
    "raw_ops": "use the operation's public name",
    "saved_model": _SAVING,
    "signal": "use scipy.signal or np.fft",
    "summary": "write summaries with tensorboardX or torch.utils.tensorboard",
    "sysconfig": "python -m penstock doctor shows what is installed",
    "test": "use pytest, and np.testing for arrays",
    "tpu": _TPU,
    "train": _TRAINING,
    "types": "use typing, and numpy.typing for arrays",
    "xla": _TRAINING,
}

# Existing names for which something else is shorter or more powerful.
_BETTER = {
    "compat.v1.Session": "iterate over the dataset: for element in dataset",
    "compat.v1.data.make_initializable_iterator": "iterate over the dataset: iter(dataset)",
    "compat.v1.data.make_one_shot_iterator": "iterate over the dataset: iter(dataset)",
    "data.experimental.copy_to_device": "Dataset.to_jax and to_torch hand batches over",
    "data.experimental.prefetch_to_device": "Dataset.to_jax and to_torch hand batches over",
    "data.experimental.map_and_batch": "Dataset.map and Dataset.batch",
    "data.experimental.shuffle_and_repeat": "Dataset.shuffle and Dataset.repeat",
    "image.sample_distorted_bounding_box": "ps.image.random_resized_crop draws, crops and resizes",
    "numpy_function": "call the function itself: functions of map are plain Python",
    "py_function": "call the function itself: functions of map are plain Python",
}


def instead(name: str) -> str | None:
    """Return a replacement for a missing name.

    Parameters
    ----------
    name : str
        The name without the prefix ``tf.``.

    Returns
    -------
    str or None
        The replacement; None if there is none.
    """
    steps = name.removeprefix("compat.v2.").split(".")
    old = steps[:2] == ["compat", "v1"]
    for begin in (0, 2) if old else (0,):
        for end in range(len(steps), begin, -1):
            if found := _INSTEAD.get(".".join(steps[begin:end])):
                return found
    return None if old or not _is_of_tensorflow_1(steps) else _OLD


def _is_of_tensorflow_1(steps: list[str]) -> bool:
    thing: Any = importlib.import_module("penstock.compat.v1")
    for step in steps:
        thing = getattr(thing, step, None) if thing is not None and step in dir(thing) else None
    return thing is not None


def better(name: str) -> str | None:
    """Return a shorter or more powerful alternative to an existing name, or None."""
    return _BETTER.get(name)


def missing(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module with TensorFlow's names.

    Parameters
    ----------
    module : str
        The ``__name__`` of the module.

    Returns
    -------
    callable
        Raises an AttributeError that suggests a replacement or lists similar names.
    """
    path = module.removeprefix("penstock.compat.")
    prefix = path.replace("v1", "compat.v1", 1) if path.startswith("v1") else path[len("tf.") :]

    def absent(name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        advice = instead(f"{prefix}.{name}" if prefix else name)
        said = f"{advice or _LISTING}{_near(module, name)}"
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}: {said}",
            name=name,
            obj=sys.modules[module],
        )

    return absent


def _near(module: str, name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, dir(sys.modules[module]), 1, 0.8)
    return f"; perhaps {near[0]} is meant" if near else ""

"""tf.train.Example and SequenceExample as serialised by protobuf, from descriptors built here."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation

# The pure-Python parser, the only one without a GIL, accepts unterminated groups.
in_c = pytest.mark.skipif(
    api_implementation.Type() == "python", reason="compares with protobuf's parser in C"
)

_Field = descriptor_pb2.FieldDescriptorProto
_REPEATED, _OPTIONAL = _Field.LABEL_REPEATED, _Field.LABEL_OPTIONAL


def _field(message, name, number, kind, label=_OPTIONAL, packed=None, oneof=None):
    field = message.field.add(name=name, number=number, label=label)
    if isinstance(kind, str):
        field.type, field.type_name = _Field.TYPE_MESSAGE, kind
    else:
        field.type = kind
    if packed is not None:
        field.options.packed = packed
    if oneof is not None:
        field.oneof_index = oneof


def _classes(package, packed):
    """Return the message classes; map entries are messages here, so that keys may be any bytes."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package)
    file.syntax = "proto3"
    for name, kind in (
        ("BytesList", _Field.TYPE_BYTES),
        ("FloatList", _Field.TYPE_FLOAT),
        ("Int64List", _Field.TYPE_INT64),
    ):
        option = None if name == "BytesList" else packed
        _field(file.message_type.add(name=name), "value", 1, kind, _REPEATED, option)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(("Bytes", "Float", "Int64"), 1):
        _field(feature, f"{name.lower()}_list", number, f".{package}.{name}List", oneof=0)
    for holder, entry, value in (
        ("Features", "Entry", "Feature"),
        ("FeatureLists", "ListEntry", "FeatureList"),
    ):
        message = file.message_type.add(name=entry)
        _field(message, "key", 1, _Field.TYPE_BYTES)
        _field(message, "value", 2, f".{package}.{value}")
        message = file.message_type.add(name=holder)
        _field(message, "feature", 1, f".{package}.{entry}", _REPEATED)
    message = file.message_type.add(name="FeatureList")
    _field(message, "feature", 1, f".{package}.Feature", _REPEATED)
    _field(file.message_type.add(name="Example"), "features", 1, f".{package}.Features")
    message = file.message_type.add(name="SequenceExample")
    _field(message, "context", 1, f".{package}.Features")
    _field(message, "feature_lists", 2, f".{package}.FeatureLists")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in ("Example", "SequenceExample", "Feature", "Features")
    }


PACKED = _classes("packed", True)
UNPACKED = _classes("unpacked", False)
KINDS = ("bytes", "float", "int64")


def fill(feature, kind, values):
    """Set the list of a Feature."""
    values_of = getattr(feature, f"{kind}_list")
    values_of.SetInParent()
    values_of.value.extend(values)


def example(features, classes=PACKED):
    """Serialise ``[(key, kind, values)]`` in this order; kind None is a feature without a list."""
    message = classes["Example"]()
    message.features.SetInParent()
    for key, kind, values in features:
        entry = message.features.feature.add(key=key)
        entry.value.SetInParent()
        if kind:
            fill(entry.value, kind, values)
    return message.SerializeToString()


def parse(serialized):
    """Return ``{key: (kind, values)}`` of an Example, as parsed by protobuf."""
    return _features(PACKED["Example"].FromString(serialized).features)


def parse_sequence(serialized):
    """Return the same for a context, and ``{key: [(kind, values)]}`` for the feature lists."""
    message = PACKED["SequenceExample"].FromString(serialized)
    lists = {
        entry.key: [_feature(step) for step in entry.value.feature]
        for entry in message.feature_lists.feature
    }
    return _features(message.context), lists


def _features(features):
    return {entry.key: _feature(entry.value) for entry in features.feature}


def _feature(feature):
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None, []
    return kind.removesuffix("_list"), list(getattr(feature, kind).value)

"""tf.train.Example, SequenceExample, and their component messages."""

from __future__ import annotations

import base64
import json
from typing import Any

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tf.messages import Message


class BytesList(Message):
    """A list of byte strings, `value`."""

    FIELDS = {"value": (1, "list", "bytes")}


class FloatList(Message):
    """A list of floats, `value`."""

    FIELDS = {"value": (1, "list", "float")}


class Int64List(Message):
    """A list of integers, `value`."""

    FIELDS = {"value": (1, "list", "int64")}


class Feature(Message):
    """The values of one feature: `bytes_list`, `float_list` or `int64_list`."""

    FIELDS = {
        "bytes_list": (1, "one", BytesList),
        "float_list": (2, "one", FloatList),
        "int64_list": (3, "one", Int64List),
    }
    ONE_OF = "kind"


class Features(Message):
    """Features by name: `feature`."""

    FIELDS = {"feature": (1, "map", Feature)}


class FeatureList(Message):
    """The features of the steps of a sequence: `feature`."""

    FIELDS = {"feature": (1, "list", Feature)}


class FeatureLists(Message):
    """Lists of features by name: `feature_list`."""

    FIELDS = {"feature_list": (1, "map", FeatureList)}


class Example(Message):
    """A message with named features, read by `tf.io.parse_single_example`.

    Parameters
    ----------
    features : Features
        The features.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> example = tf.train.Example()
    >>> example.features.feature["x"].int64_list.value.append(1)
    >>> bool(example.SerializeToString() == tf.io.make_example({"x": [1]}))
    True
    """

    FIELDS = {"features": (1, "one", Features)}


class SequenceExample(Message):
    """A message with features of a sequence, and lists of features of its steps.

    Parameters
    ----------
    context : Features
        Features of the whole sequence.
    feature_lists : FeatureLists
        Features of the steps.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> example = tf.train.SequenceExample()
    >>> step = example.feature_lists.feature_list["x"].feature.add()
    >>> step.float_list.value.extend([0.5, 1.5])
    >>> example
    feature_lists {
      feature_list {
        key: "x"
        value {
          feature {
            float_list {
              value: 0.5
              value: 1.5
            }
          }
        }
      }
    }
    <BLANKLINE>
    """

    FIELDS = {
        "context": (1, "one", Features),
        "feature_lists": (2, "one", FeatureLists),
    }


_JSON_LISTS = {"bytesList": "bytes_list", "floatList": "float_list", "int64List": "int64_list"}


def example_of_json(text: bytes) -> bytes:
    """Return the bytes of an Example from its JSON form.

    Raises
    ------
    InvalidArgumentError
        If the text is not a valid Example.
    """
    example = Example()
    try:
        for name, held in json.loads(text).get("features", {}).get("feature", {}).items():
            feature = example.features.feature[name]
            for key, values in held.items():
                kind = _JSON_LISTS.get(key, key)
                made = getattr(feature, kind)
                made.SetInParent()
                made.value.extend(_of_json(kind, each) for each in values.get("value", ()))
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(None, None, f"decode_json_example: {error}") from None
    return example.SerializeToString()


def _of_json(kind: str, value: Any) -> Any:
    if kind == "bytes_list":
        return base64.b64decode(value)
    return float(value) if kind == "float_list" else int(value)


__dir__ = listing(globals())

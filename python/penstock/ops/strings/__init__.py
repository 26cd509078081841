"""String operations for bytes and str, with the names of TensorFlow's tf.strings.

Results have the type of the input, bytes or str. Positions and lengths count bytes (for a str, its
UTF-8 bytes), unless characters are requested.
"""

from penstock.ops.strings.changing import lower, strip, upper
from penstock.ops.strings.numbers import as_string, to_hash_bucket_fast, to_number, unicode_decode
from penstock.ops.strings.parts import join, length, reduce_join, split, substr
from penstock.ops.strings.regex import regex_full_match, regex_replace

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_number",
    "unicode_decode",
    "upper",
]


def __dir__() -> list[str]:
    return [*__all__]

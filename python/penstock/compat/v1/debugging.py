"""tf.debugging as in TensorFlow 1: checks with `data` as the argument after the values."""

from __future__ import annotations

from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tf import debugging as _debugging
from penstock.compat.tf import math as _math
from penstock.compat.v1.moved import old as _old

for _name in dir(_debugging):
    globals()[_name] = _old(getattr(_debugging, _name), _name)
for _name in ("is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_strictly_increasing"):
    globals()[_name] = deferred(vars(_math)[_name])
globals()["assert_all_finite"] = _old(_debugging.check_numerics, "assert_all_finite")

AT_TOP = [
    *("assert_negative", "assert_non_negative", "assert_non_positive", "assert_positive"),
    *("assert_equal", "assert_greater", "assert_greater_equal", "assert_less"),
    *("assert_less_equal", "assert_none_equal", "assert_rank", "assert_rank_at_least"),
    *("Assert", "assert_integer", "assert_near", "assert_proper_iterable", "assert_rank_in"),
    *("assert_same_float_dtype", "assert_scalar", "assert_type", "check_numerics"),
]

__dir__ = listing(globals())

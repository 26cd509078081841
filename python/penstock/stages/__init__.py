"""The sources and transformations: mixins of Dataset, one method for each.

Each file is named after the stage, or the folder of stages, in cpp/stages that it wraps; `rows`
contains the stages that transform one row at a time. A method resolves its arguments, calls `_then`
once (a source: `_make`), and returns the result. A mixin inherits from the mixins whose methods it
calls.
"""

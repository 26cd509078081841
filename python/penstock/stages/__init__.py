"""The sources and transformations: mixins of Dataset, one method for each.

A file has the name of the stage, or of the folder of stages, that it stands for in cpp/stages;
`rows` has those that look at one row at a time. A method resolves its arguments, makes one `_then`
(a source: one `_make`), and returns. A class inherits from those whose methods its own ones use.
"""

"""The loaders: a function per workload, which makes the pipeline of a task.

A loader is a file, or a folder of files by theme. What a function returns is called for each pass;
or it is the seconds per unit, where the function has measured by itself. The first sentence of a
function's docstring is the configuration that the results state.
"""

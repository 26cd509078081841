"""The loaders, one file each: a function per workload, which makes the pipeline of a task.

What a function returns is called for each pass. The first sentence of its docstring is the
configuration that the results state.
"""

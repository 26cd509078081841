"""The loaders: one function per workload, which builds the pipeline of a task.

A loader is a file, or a folder of files by theme. A function returns a callable, which is called
for each pass; or, if it times itself, it returns the seconds per unit. The first sentence of a
function's docstring is the configuration in the published results.
"""

"""Functions that run in other processes: transfer of functions and of objects."""

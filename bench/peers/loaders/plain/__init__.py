"""Plain Python: lists, threads, queues and NumPy, without any loader."""

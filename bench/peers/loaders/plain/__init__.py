"""Plain Python: lists, threads, queues and NumPy, as one writes it without any loader."""

"""Datasets of files and of Python iterables, made by functions that stand on top of Dataset."""

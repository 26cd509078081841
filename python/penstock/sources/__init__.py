"""Datasets of files and of Python iterables: classes and functions on top of Dataset."""

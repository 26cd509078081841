"""Datasets from files and Python iterables: classes and functions built on Dataset."""

"""Pipelines with a planted bottleneck, and whether a profile finds it."""

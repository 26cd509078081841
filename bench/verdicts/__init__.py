"""Pipelines with a planted bottleneck, to test whether a profile finds it."""

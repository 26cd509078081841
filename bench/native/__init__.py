"""Micro benchmarks in C++, and the loops that whole pipelines are compared with."""

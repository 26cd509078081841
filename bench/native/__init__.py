"""C++ micro-benchmarks, and the reference loops for whole pipelines."""

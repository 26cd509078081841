"""The same pipelines on other loaders, each in a virtual environment of its own."""

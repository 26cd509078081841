"""The same pipelines on other loaders, each in a separate virtual environment."""

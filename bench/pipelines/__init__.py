"""Speed of whole pipelines as a user writes them, each beside the limit it is held against."""

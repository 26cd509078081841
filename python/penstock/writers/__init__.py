"""What writes the elements of datasets to files of other formats."""

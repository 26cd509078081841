"""Writers that export the elements of datasets to other file formats."""

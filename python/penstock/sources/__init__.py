"""Where elements come from: mixins of Dataset, and the classes named after file formats."""

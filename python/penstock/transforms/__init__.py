"""What datasets become: mixins of Dataset, one method for each transformation."""

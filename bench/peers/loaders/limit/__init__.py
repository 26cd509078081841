"""The limits of the machine: loops without any pipeline."""

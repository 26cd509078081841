"""What the machine can do: loops without any pipeline."""

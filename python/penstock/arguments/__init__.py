"""What arguments may be, by their names, and the errors that name those that are not."""

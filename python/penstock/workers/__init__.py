"""Functions that other processes call: how they and their objects travel."""

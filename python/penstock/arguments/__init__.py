"""Argument checks by parameter name, with errors that name the invalid argument."""

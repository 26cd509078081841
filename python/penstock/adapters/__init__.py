"""Datasets in the forms that trainers take. Each framework is imported when it is asked for."""

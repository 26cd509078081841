"""Conversions of datasets for trainers. Each framework is imported on first use.

The modules use the public methods of Dataset and the stage modules' information about the plan.
Users call them through the conversion methods of Dataset, which are defined in forms.py.
"""

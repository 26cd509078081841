"""The demo: a training step fed from a folder of JPEGs, first naively, then better step by step."""

from penstock.demo.command import main

__all__ = ["main"]

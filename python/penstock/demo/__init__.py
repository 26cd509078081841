"""The demo: feed a training step from a folder of JPEGs, naively, then better step by step."""

from penstock.demo.command import main

__all__ = ["main"]

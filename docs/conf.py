"""Sphinx configuration."""

import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent

project = "penstock"
author = "The penstock authors"
copyright = "the penstock authors, Apache-2.0"
release = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "literal"

html_theme = "furo"
html_title = f"penstock {release}"
html_copy_source = False

myst_heading_anchors = 3

# The docstrings contain the types, so the signatures stay short.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

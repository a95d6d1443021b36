"""How results, spaces and records show themselves in a notebook: small tables of escaped text."""

from tunesmith.notebook.table import html_table

__all__ = ["html_table"]

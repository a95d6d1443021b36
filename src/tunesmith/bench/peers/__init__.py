"""Other libraries, and what they are compared by."""

SIDE = f"{__name__}.side"
"""The module that the process of a side runs."""

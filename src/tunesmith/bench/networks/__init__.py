"""``tunesmith network compare`` and ``tunesmith bench networks``: against other runtimes."""

SIDE = f"{__name__}.side"
"""The module that the process of a side runs."""

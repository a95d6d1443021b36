"""The commands of ``tunesmith bench``: the figures that the project holds itself to."""

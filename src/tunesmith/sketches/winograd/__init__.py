"""Winograd's convolution, in parts: matrices, sizes, loops, and a model of its time."""

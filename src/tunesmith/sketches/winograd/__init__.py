"""Winograd's convolution, as far as CPUs and GPUs share it: matrices, sizes, transforms."""

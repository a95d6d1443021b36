"""Products of matrices on the tensor cores of NVIDIA GPUs, written instruction by instruction."""

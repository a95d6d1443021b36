"""Products of matrices on the tensor cores of NVIDIA GPUs, written out step by step."""

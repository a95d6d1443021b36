"""What Winograd's convolution has on CPUs and on GPUs: matrices, sizes, transforms."""

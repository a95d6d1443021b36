"""NVIDIA GPUs: from a program to launches of machine code, and the driver that runs them."""

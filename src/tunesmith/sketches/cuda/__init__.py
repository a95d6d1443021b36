"""Sketches for NVIDIA GPUs, and what they share: the limits of a block."""

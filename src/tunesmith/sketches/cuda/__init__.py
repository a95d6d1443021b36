"""What the sketches for NVIDIA GPUs share: the limits of a block, and tiling for its threads."""

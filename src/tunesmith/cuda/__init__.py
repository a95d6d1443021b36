"""NVIDIA GPUs: programs lowered to machine code and launches, and the driver that runs them."""

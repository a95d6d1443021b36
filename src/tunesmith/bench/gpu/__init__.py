"""`tunesmith bench gpu`: sketches for GPUs, and NVIDIA's libraries."""

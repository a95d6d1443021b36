"""``tunesmith bench gevo``: what evolution finds on real kernels and models."""

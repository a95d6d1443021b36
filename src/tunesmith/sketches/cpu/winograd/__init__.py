"""Winograd's convolution on CPUs: copies, products and a model of its time."""

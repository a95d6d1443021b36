"""Kernels: built programs that users call, and their files."""

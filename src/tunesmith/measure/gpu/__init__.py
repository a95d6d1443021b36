"""Trials on a GPU, which has one process."""

"""Trials on GPUs, each with a worker process."""

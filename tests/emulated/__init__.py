"""Tests that need GPUs: they run in a process that sees two emulated ones.

Their files are no ``test_*.py``, for pytest finds them only where it is told: ``tests/emulated_gpus.py``
starts it.
"""

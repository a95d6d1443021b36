"""Tests for a machine with two GPUs: they run in a process that sees emulated ones.

Their files are not called ``test_*.py``, so pytest finds them only where it is told:
``tests/kernel/test_gpu.py`` and ``tests/networks/test_gpu.py`` do. ``test_real_gpu.py`` is for a
machine that has one.
"""

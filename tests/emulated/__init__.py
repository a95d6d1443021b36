"""Tests that need GPUs: they run in a process that sees two emulated ones.

Their files are not called ``test_*.py``, so pytest finds them only where it is told:
``tests/emulated_gpus.py`` does.
"""

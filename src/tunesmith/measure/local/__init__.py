"""Trials on this machine, several builds at a time."""

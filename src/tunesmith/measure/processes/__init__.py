"""Processes that may crash or hang, and their supervision."""

"""Processes that may crash or hang, and those that look after them."""

"""Spaces as papers define them."""

"""Operators along rows: one or several rows a block."""

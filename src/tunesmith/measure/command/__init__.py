"""Command lines as problems."""

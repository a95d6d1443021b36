"""Tasks as problems."""

"""``tunesmith evolve``."""

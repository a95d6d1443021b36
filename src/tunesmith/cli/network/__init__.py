"""``tunesmith network``: whole networks."""

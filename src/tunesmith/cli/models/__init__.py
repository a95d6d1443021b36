"""``tunesmith models``: the models of a store."""

"""The model of a GPU that estimates are made of."""

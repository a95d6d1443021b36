"""`tunesmith bench replay`: what papers claim of searches, on spaces that are on record."""

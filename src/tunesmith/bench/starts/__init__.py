"""`tunesmith bench starts`: how good first trials are."""

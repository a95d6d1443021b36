"""`tunesmith bench store`: many processes that write into one store."""

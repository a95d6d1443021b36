"""`tunesmith bench operators`: layers and shapes against other libraries."""

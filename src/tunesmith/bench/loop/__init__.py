"""`tunesmith bench loop` and `startup`: what the loop itself costs."""

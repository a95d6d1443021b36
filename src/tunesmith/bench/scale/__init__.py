"""`tunesmith bench scale`: the real loop with more devices than there are, by simulation."""

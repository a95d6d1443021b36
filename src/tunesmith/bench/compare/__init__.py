"""`tunesmith compare`: tuners against each other, on recorded spaces and on this machine."""

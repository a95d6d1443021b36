"""`tunesmith compare`: tuners against each other on recorded and made-up spaces."""

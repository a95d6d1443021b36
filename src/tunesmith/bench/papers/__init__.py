"""`tunesmith bench search`: what the papers claim of their searches, done again."""

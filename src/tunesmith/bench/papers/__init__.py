"""`tunesmith bench nose`, `opevo`, `gbfs`, `space-analysis`: what papers claim, done again."""

"""Records that cost models are trained on, of many tasks, as files."""

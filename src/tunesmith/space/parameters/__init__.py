"""Parameters: what a config chooses."""

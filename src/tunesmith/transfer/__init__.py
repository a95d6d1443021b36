"""Learning from the trials of other tasks: models that rank the configs of new ones."""

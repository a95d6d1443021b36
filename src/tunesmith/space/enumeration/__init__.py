"""Valid configs of parameters that constraints tie together: counted, numbered, listed."""

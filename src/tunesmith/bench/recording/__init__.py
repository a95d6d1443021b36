"""`tunesmith record`: all configs of a space, measured."""

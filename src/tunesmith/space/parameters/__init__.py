"""The kinds of parameters."""

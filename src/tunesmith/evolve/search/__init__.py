"""The search over edits, which knows nothing of what is edited."""

"""What a program with edits is worth: how fast it is, and how wrong."""

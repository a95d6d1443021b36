"""Other libraries, and what they are compared by."""

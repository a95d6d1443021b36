"""Times that can be compared: sides in turn, each in its own process."""

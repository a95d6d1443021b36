"""The valid configs of a space: counted, numbered and listed."""

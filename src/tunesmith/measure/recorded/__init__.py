"""Recorded spaces: written, read, and replayed instead of hardware."""

"""Recorded spaces: written, read, and tuned in place of hardware."""

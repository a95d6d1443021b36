"""Synthetic spaces: made by formulas, far larger than any that can be recorded."""

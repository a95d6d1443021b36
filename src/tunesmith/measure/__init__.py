"""Measuring: trials in processes of their own, with outcome classes, timeouts, verification."""

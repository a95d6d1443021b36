"""Measuring: trials in processes of their own, with outcome classes, timeouts, verification.

Nothing is imported here: the server's start is what a run waits for.
"""

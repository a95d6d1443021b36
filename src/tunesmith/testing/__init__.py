"""Suites that any tuner, sketch, store or measurer inherits to show that it keeps its contract."""

"""Suites that any tuner, store or measurer inherits to show that it keeps its contract."""

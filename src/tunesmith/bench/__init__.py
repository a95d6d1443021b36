"""Comparisons with peers and the figures that we hold ourselves to."""

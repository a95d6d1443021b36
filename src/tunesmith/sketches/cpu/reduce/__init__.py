"""Sums, means and extremes over an axis, written loop by loop (``cpu_reduce``).

``rows`` reduces an axis whose elements are neighbours in memory, ``columns`` any other axis.
``combining`` is what is done with two values, also by pooling.
"""

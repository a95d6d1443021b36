"""Pages in the browser about a store, while runs go on and afterwards; they only read.

`serve` in ``serving`` starts it. Dash is imported by ``app`` and ``pages`` alone.
"""

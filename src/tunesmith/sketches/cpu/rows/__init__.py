"""Operators along rows, written loop by loop (``cpu_rows``): softmax and layer normalisation.

``blocking`` has the choices of a program and the vectors of a row, ``elements`` loads and stores
them, ``across`` reduces their lanes, ``softmax`` and ``layer_norm`` emit the stages of some rows at
once (``rows`` is what both have in common), and ``program`` shares the rows among the cores.
"""

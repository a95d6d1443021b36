"""Operators along rows, written loop by loop (``cpu_rows``): softmax and layer normalisation.

``blocking`` has the choices of a program and the vectors of a row, ``elements`` brings them to and
from memory, ``across`` adds up what is in their lanes, ``softmax`` and ``layer_norm`` do the stages
of some rows at once, and ``program`` shares the rows among the cores.
"""

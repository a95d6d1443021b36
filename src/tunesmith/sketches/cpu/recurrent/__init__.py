"""Recurrent cells (``cpu_recurrent``): LSTM and GRU, as products of packed panels.

``program`` has the loops of all steps around the product of ``sketches/cpu/gemm``, and the gates
after it; ``sketch`` the space and the estimates.
"""

"""Recurrent cells (``cuda_recurrent``): LSTM and GRU, a launch for each step."""

"""The networks of the neural tuners, in PyTorch."""

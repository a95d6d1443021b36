"""What the neural tuners are made of, with PyTorch where it is needed."""

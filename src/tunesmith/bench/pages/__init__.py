"""What pages of figures are made of."""

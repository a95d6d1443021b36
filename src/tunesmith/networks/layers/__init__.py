"""What of a network is which operator of ours."""

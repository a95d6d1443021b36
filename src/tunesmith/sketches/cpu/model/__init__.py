"""What models of CPUs have in common."""

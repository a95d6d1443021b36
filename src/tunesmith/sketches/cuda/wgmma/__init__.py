"""Products of matrices by groups of four warps of a Hopper GPU, with ``wgmma``."""

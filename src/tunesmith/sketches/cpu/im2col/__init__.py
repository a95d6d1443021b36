"""Convolution as a product of matrices, weights by patches (``cpu_im2col``).

``planes`` copies images to a layout in which vectors of patches are contiguous, so that no patch is
copied. ``convolution`` makes the operands and the result of a product (``cpu/gemm``) of it.
"""

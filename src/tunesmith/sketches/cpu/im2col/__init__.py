"""Convolution as a product of matrices, weights by patches (``cpu_im2col``).

``planes`` lays images out so that the patches of all windows are there without being copied one by
one, ``convolution`` makes the operands and the result of a product (``cpu/gemm``) of them.
"""

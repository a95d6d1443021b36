"""Convolution by Winograd's algorithm on a GPU: transforms, and products of a batch of matrices."""

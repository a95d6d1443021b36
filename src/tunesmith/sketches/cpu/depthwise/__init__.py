"""Convolution of each channel by itself, written loop by loop (``cpu_depthwise``).

``windows`` is the geometry of tiles along an image axis, ``taps`` brings the inputs of a tap into
vectors, ``kernel`` puts a program together.
"""

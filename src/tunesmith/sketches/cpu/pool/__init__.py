"""Pooling, written loop by loop (``cpu_pool``).

``kernel`` has tiles of windows along the columns, ``whole`` windows as large as the image, and
``estimate`` about how long they take. Tiles and shuffles are those of depthwise convolution.
"""

"""Pooling, written loop by loop (``cpu_pool``).

``kernel`` has tiles of windows along the columns, and ``estimate`` about how long they take. Tiles
and shuffles are those of depthwise convolution. Windows as large as the image are rows to reduce.
"""

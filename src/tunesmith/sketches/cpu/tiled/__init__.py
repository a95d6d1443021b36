"""Loops in tiles, by TVM's schedules: for every operator with a reduction."""

"""Loops in tiles for blocks and threads, by TVM's schedules."""

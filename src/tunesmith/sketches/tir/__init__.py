"""Pieces of TVM's programs that sketches write loop by loop."""

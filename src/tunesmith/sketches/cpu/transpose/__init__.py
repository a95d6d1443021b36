"""The parts of the sketch of transposed convolution."""

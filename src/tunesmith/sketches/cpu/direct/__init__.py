"""The parts of the sketch of direct convolution."""

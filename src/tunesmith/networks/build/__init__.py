"""From a network and its chosen programs to one module."""

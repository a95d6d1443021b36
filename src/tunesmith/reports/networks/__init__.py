"""The tables and the page of networks."""

"""One trial: build, run, verify, time."""

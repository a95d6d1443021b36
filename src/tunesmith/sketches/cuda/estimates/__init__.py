"""About how many seconds a config of a GPU sketch takes: what counts is the order of configs."""

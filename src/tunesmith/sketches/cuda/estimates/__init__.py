"""The model of GPUs that estimates of sketches use: only the order of configs matters."""

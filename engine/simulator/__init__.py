"""A simulated serving engine: the same core and events as a real one, without a GPU."""

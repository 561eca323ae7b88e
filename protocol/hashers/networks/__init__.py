"""Neural hashers: the signs of a network's outputs."""

"""Hashers that learn from labels or affinities without a network."""

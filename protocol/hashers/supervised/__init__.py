"""Hashers that learn from labels or affinities and need no network."""

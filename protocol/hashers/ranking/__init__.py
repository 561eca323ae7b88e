"""Hashers that maximise a ranking metric of their own training set."""

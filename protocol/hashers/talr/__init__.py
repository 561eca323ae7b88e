"""Hashers that maximise a ranking metric on their training set."""

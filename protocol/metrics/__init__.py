"""Metrics: pure functions of the counts, one file per family."""

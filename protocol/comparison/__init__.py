"""Comparison of scores: a table has only scores whose protocols are known and equal, or assumed to be."""

from protocol.comparison.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]

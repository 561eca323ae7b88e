"""Comparison of scores: a table contains only scores whose protocols are known and equal, or assumed to be equal."""

from protocol.comparison.comparison import Comparison, compare
from protocol.comparison.places import Leaderboard, leaderboard

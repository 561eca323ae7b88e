"""Counting: how many database items of each relevance level lie at each Hamming distance from a query."""

from protocol.ranking.counting import count
from protocol.ranking.counts import HammingCounts
from protocol.ranking.relevance import LabelRelevance, NeighbourRelevance, Relevance, relevance_from_arrays

__all__ = ["HammingCounts", "LabelRelevance", "NeighbourRelevance", "Relevance", "count", "relevance_from_arrays"]

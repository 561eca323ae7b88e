"""Counting: how many database items of each relevance level lie at each Hamming distance from a query."""

from protocol.ranking.asymmetric import asymmetric_counts
from protocol.ranking.bucket_search import BucketSearch, bucket_search, lookup_time
from protocol.ranking.counting import count
from protocol.ranking.counts import HammingCounts, pack_counts, unpack_counts
from protocol.ranking.relevance import (
    LabelRelevance,
    NeighbourRelevance,
    Relevance,
    ground_truth_sha256,
    relevance_from_arrays,
)

__all__ = [
    "BucketSearch",
    "HammingCounts",
    "LabelRelevance",
    "NeighbourRelevance",
    "Relevance",
    "asymmetric_counts",
    "bucket_search",
    "count",
    "ground_truth_sha256",
    "lookup_time",
    "pack_counts",
    "relevance_from_arrays",
    "unpack_counts",
]

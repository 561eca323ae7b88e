"""Counting: the number of database items of each relevance level at each Hamming distance from a query."""

from protocol.counting.asymmetric import asymmetric_counts
from protocol.counting.bucket_search import bucket_search
from protocol.counting.by_distance import count_by_distance, distance_counts
from protocol.counting.counting import count
from protocol.counting.counts import HammingCounts, RunCounts, StackedCounts, joined, pack_counts, unpack_counts
from protocol.counting.counts_file import StoredCounts, added, counted, read_counts, write_counts
from protocol.counting.leave_one_out import count_leave_one_out
from protocol.counting.sharding import count_in_shards, shard
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance, Relevance

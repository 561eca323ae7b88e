"""SIFT1M with its official splits: `base` is the database, `learn` the training set, `query` the queries."""

from protocol.splits._protocol import Official, declare

SIFT1M = declare(
    __name__,
    source="Jegou, Douze, Schmid, Product Quantization for Nearest Neighbor Search, TPAMI 2011, section V",
    summary="SIFT1M with its official splits: 10,000 queries, a database of 1,000,000 items, and 100,000 others for "
    "training",
    partitions={
        "query": Official("query", 10_000),
        "train": Official("learn", 100_000),
        "database": Official("base", 1_000_000),
    },
    n_items=1_110_000,
)

"""A split from the user's files, one for each partition. Overlaps are allowed here; the audit reports them."""

from protocol.splits._protocol import PARTITIONS, Listed, declare

FROM_LISTS = declare(
    __name__,
    source="your own lists",
    summary="Your own split, with a file for each partition: lists of ids with or without labels, or row numbers",
    partitions={name: Listed(required=name in ("query", "train", "database")) for name in PARTITIONS},
    may_overlap=dict.fromkeys(PARTITIONS, PARTITIONS),
)

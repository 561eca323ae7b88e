"""The improved split: the sampled split of `standard`, and a database that is disjoint from all other partitions."""

from protocol.splits._protocol import declare
from protocol.splits.standard import STANDARD

IMPROVED = declare(
    __name__,
    source="Moran 2016, thesis section 3.5.2, figure 3.7",
    summary="Improved: the database is held out; it shares no items with the queries, training set or validation sets",
    base=STANDARD,
    may_overlap={},
)

"""The improved split: a held-out test database that shares no item with any other partition."""

from protocol.registry import SplitRecord
from protocol.splits._protocol import SplitProtocol
from protocol.splits._thesis import FIVE

IMPROVED = SplitRecord(
    "improved",
    source="Moran 2016, thesis section 3.5.2, figure 3.7",
    summary="Improved: the database is held out; it shares no item with queries, training or validation sets",
)(SplitProtocol(FIVE))

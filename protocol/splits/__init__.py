"""Split protocols: how a dataset is divided into queries, database, training and validation sets."""

from protocol.splits._protocol import DRAWN, PARTITIONS, SplitProtocol

__all__ = ["DRAWN", "PARTITIONS", "SplitProtocol"]

"""What the protocols of CIFAR-10 draw alike: 100 queries and 500 training images of each class."""

from collections.abc import Mapping
from types import MappingProxyType

from protocol.splits._protocol import Drawn, Partition, Rest

N_ITEMS, N_CLASSES = 60_000, 10
BY_CLASS: Mapping[str, Partition] = MappingProxyType(
    {"query": Drawn(per_class=100), "train": Drawn(per_class=500), "database": Rest()}
)

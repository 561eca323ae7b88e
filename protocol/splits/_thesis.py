"""What the two protocols of the thesis draw alike; the setting gives the sizes."""

from collections.abc import Mapping
from types import MappingProxyType

from protocol.splits._protocol import DRAWN, Drawn, Partition, Rest

FIVE: Mapping[str, Partition] = MappingProxyType({**dict.fromkeys(DRAWN, Drawn()), "database": Rest()})

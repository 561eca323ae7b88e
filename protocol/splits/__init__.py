"""Split protocols: how a dataset is divided into queries, database, training and validation sets."""

from protocol.splits._files import Split, items_above, items_of, load_split, places_of, read_lists, read_parts
from protocol.splits._protocol import (
    DRAWN,
    LISTS,
    OPTIONS,
    PARTITIONS,
    VALIDATION,
    Drawn,
    Items,
    Listed,
    Official,
    Rest,
    SameAs,
    SplitProtocol,
    declaration,
    declare,
    official_parts,
    sample_of,
    sampling_split,
    sharing,
)

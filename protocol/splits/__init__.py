"""Split protocols: how a dataset is divided into queries, database, training and validation sets."""

from protocol.splits._files import (
    list_paths,
    places_of,
    read_list,
    read_lists,
    read_parts,
    read_split,
    rows_of,
    write_list,
    write_split,
)
from protocol.splits._filtering import SINGLE_LIST, sole_key, write_items, write_subset
from protocol.splits._loaded import Split, load_split
from protocol.splits._protocol import (
    DRAWN,
    PARTITIONS,
    VALIDATION,
    Drawn,
    Listed,
    Official,
    Rest,
    SameAs,
    SplitProtocol,
    draw_of,
    drawing_split,
)

__all__ = [
    "DRAWN",
    "PARTITIONS",
    "SINGLE_LIST",
    "VALIDATION",
    "Drawn",
    "Listed",
    "Official",
    "Rest",
    "SameAs",
    "Split",
    "SplitProtocol",
    "draw_of",
    "drawing_split",
    "list_paths",
    "load_split",
    "places_of",
    "read_list",
    "read_lists",
    "read_parts",
    "read_split",
    "rows_of",
    "sole_key",
    "write_items",
    "write_list",
    "write_split",
    "write_subset",
]

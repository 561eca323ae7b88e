"""Properties by which lists published with toolkits are recognised: sizes, overlaps and digests, not the lists."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PublishedLists:
    """The lists of one dataset in one toolkit.

    Parameters
    ----------
    name : str
        Their name in sentences.
    protocol : str
        The declared protocol that they implement, or are intended to implement.
    n_classes : int
        The number of labels per line.
    sizes : mapping of str to int
        Sizes by partition; unknown partitions are omitted.
    shared : mapping of (str, str) to int
        The number of items that two partitions share; unknown pairs are omitted.
    digests : mapping of str to str
        By partition, the result of `digest_of_names` for the file names in the list.
    """

    name: str
    protocol: str
    n_classes: int
    sizes: Mapping[str, int]
    shared: Mapping[tuple[str, str], int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)


def digest_of_names(names: Iterable[str]) -> str:
    """Return the SHA-256 of the distinct file names, without their folders, in alphabetical order.

    Examples
    --------
    >>> digest_of_names(["images/b.jpg", "a.jpg"]) == digest_of_names(["./data/a.jpg", "b.jpg", "b.jpg"])
    True
    """
    distinct = sorted({str(name).replace("\\", "/").rpartition("/")[2] for name in names})
    return hashlib.sha256("\n".join(distinct).encode()).hexdigest()


PUBLISHED = (
    PublishedLists(
        "HashNet's lists of MS-COCO",  # repository thuml/HashNet, data/coco
        protocol="coco_5k",
        n_classes=80,
        sizes={"query": 5_000, "train": 10_000, "database": 112_218},
        shared={("query", "database"): 5_000},
    ),
    PublishedLists(
        "HashNet's lists of NUS-WIDE-81",  # repository thuml/HashNet, pytorch/data/nuswide_81
        protocol="nuswide_81",
        n_classes=81,
        sizes={"query": 5_000, "train": 10_000},
        shared={("query", "train"): 0},
        digests={
            "query": "57359915f0a2f9f99fed744ec62d596f3472fc04d52d268649cccd71e3e61c94",
            "train": "f18286028b9464707e3fdeed014c0c8257937f6bab467454d60e5e7f567367c0",
        },
    ),
    PublishedLists(
        "DeepHash-pytorch's lists of NUS-WIDE-21",  # repository swuxyj/DeepHash-pytorch, data/nuswide_21
        protocol="nuswide_21",
        n_classes=21,
        sizes={"query": 2_100, "train": 10_500},
        shared={("query", "train"): 0},
        digests={
            "query": "9af2d99ca1cab3d84fbf0c347be2c18ab614e78fc9d64963e6a43c249def5da2",
            "train": "8b64436e4f2eb76d843fb8b95b5e00d45c9bcfd1eb6e6b6c29e48212ced7df90",
        },
    ),
)
"""The lists that an audit recognises."""

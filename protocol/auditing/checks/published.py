"""Properties by which lists published with toolkits are recognised: sizes, overlaps and digests, not the lists."""

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE_DATA = "published.toml"


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


def _published() -> Iterator[PublishedLists]:
    with open(Path(__file__).with_name(PACKAGE_DATA), "rb") as stream:
        for name, properties in tomllib.load(stream).items():
            shared = {}
            for pair, n_items in properties.pop("shared", {}).items():
                a, _, b = pair.partition("/")
                shared[a, b] = n_items
            yield PublishedLists(name, shared=shared, **properties)


PUBLISHED = tuple(_published())
"""The lists that an audit recognises."""

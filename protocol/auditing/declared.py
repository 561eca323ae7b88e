"""A split against its declaration: the sizes, and the draw made again from the seed."""

from collections.abc import Mapping

import numpy as np

from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Split
from protocol.checks import ProtocolError, n_classes
from protocol.splits import SplitProtocol


def audit_sizes(split: Split, name: str, protocol: SplitProtocol, sizes: Mapping[str, int]) -> list[Finding]:
    """Return a finding if partitions have other sizes than declared.

    Parameters
    ----------
    split : Split
    name : str
        The protocol's.
    protocol : SplitProtocol
    sizes : mapping
        Of the partitions that the protocol leaves open, where they are known; others are taken as they came.
    """
    held = {part: len(split[part]) for part in split.parts}
    given = {part: sizes.get(part) or held.get(part) for part in protocol.open}
    known = all(given.values())
    declared = protocol.sizes(
        {part: size or 1 for part, size in given.items()},  # an unknown size is not held against anything
        n_items=(split.dataset.n_items or protocol.n_items) if known else None,
        n_classes=protocol.n_classes or n_classes(split.dataset.y),
    )
    wrong = [
        f"{part} {held[part]:,} (declared {size:,})"
        for part, size in declared.items()
        if part in held and held[part] != size and given.get(part, size)
    ]
    return found("size-mismatch", "error", len(wrong), wrong, protocol=name)


def audit_seed(split: Split, protocol: SplitProtocol, *, seed: int | None, sizes: Mapping[str, int]) -> list[Finding]:
    """Return a finding if the split is not what its protocol draws from `seed`: the partitions that come out otherwise.

    Lists are taken as they came. The dataset has to be known as a whole.
    """
    dataset = split.dataset
    if seed is None or dataset.n_items is None:
        return []
    lists = {name: split[name] for name in protocol.listed if len(split[name])}
    try:
        drawn = protocol.split(
            dataset.n_items, dataset.y, seed=seed, sizes=sizes, official=dataset.official, lists=lists
        )
    except ProtocolError as error:
        return found("not-reproducible", "error", 1, [f"seed {seed}"], why=f" ({error})")
    other = [part for part in drawn if not np.array_equal(drawn[part], split[part])]
    return found("not-reproducible", "error", len(other), other, why=f" (seed {seed})")

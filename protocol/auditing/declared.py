"""Compare a split with its declaration: its sizes, and the partitions drawn again from its seed."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from protocol.auditing.findings import Finding, found
from protocol.auditing.split import Split
from protocol.checks import ProtocolError, integer, one_of
from protocol.inputs.validation import n_classes
from protocol.splits import PARTITIONS, SplitProtocol


def audit_sizes(
    split: Split,
    name: str,
    protocol: SplitProtocol,
    sizes: Mapping[str, int],
    expected: Mapping[str, int] = MappingProxyType({}),
) -> list[Finding]:
    """Return a finding if the sizes of partitions differ from the declared ones, or from the expected ones.

    Parameters
    ----------
    split : Split
    name : str
        Name of the protocol.
    protocol : SplitProtocol
    sizes : mapping
        Known sizes of the partitions that the protocol leaves open; others are not compared.
    expected : mapping
        The expected sizes, which replace the declared ones. The size of a missing partition is 0.
    """
    actual = {part: len(split[part]) for part in split.parts}
    given = {part: sizes.get(part) or actual.get(part) for part in protocol.open}
    known = all(given.values())
    declared = protocol.sizes(
        {part: size or 1 for part, size in given.items()},  # an unknown size is not compared
        n_items=(split.dataset.n_items or protocol.n_items) if known else None,
        n_classes=protocol.n_classes or n_classes(split.dataset.y),
    )
    wrong = [
        f"{part} {actual[part]:,} (declared {size:,})"
        for part, size in declared.items()
        if part not in expected and part in actual and actual[part] != size and given.get(part, size)
    ]
    other = [
        f"{part} {actual.get(part, 0):,} (expected {size:,})"
        for part, size in expected.items()
        if actual.get(part, 0) != size
    ]
    which = [f"declared by {name}"] * bool(wrong) + ["expected"] * bool(other)
    return found("size-mismatch", "error", len(wrong + other), wrong + other, which=" or ".join(which))


def sizes_from(values: Any) -> dict[str, int]:
    """Return expected sizes by partition, in the order of the partitions.

    Parameters
    ----------
    values : mapping of str to int, or None

    Raises
    ------
    ProtocolError
        If `values` is not a mapping, a name is not a partition, or a size is not an integer >= 0.

    Examples
    --------
    >>> sizes_from({"train": 5_000, "query": 1_000})
    {'query': 1000, 'train': 5000}
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ProtocolError(f"sizes: expected a mapping of partition names to sizes, got {type(values).__name__}.")
    for part, size in values.items():
        one_of(part, PARTITIONS, "sizes: partition")
        integer(size, f"sizes: {part}", minimum=0)
    return {part: int(values[part]) for part in PARTITIONS if part in values}


def audit_seed(split: Split, protocol: SplitProtocol, *, seed: int | None, sizes: Mapping[str, int]) -> list[Finding]:
    """Return a finding that lists the partitions that differ from those that the protocol draws from `seed`.

    Listed partitions are not drawn, so they are used as they are. The complete dataset must be known.
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
        return found("not-reproducible", "error", 1, [f"seed {seed}"], why=f" ({str(error).removesuffix('.')})")
    other = [part for part in drawn if not np.array_equal(drawn[part], split[part])]
    return found("not-reproducible", "error", len(other), other, why=f" (seed {seed})")

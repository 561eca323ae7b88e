"""Printed tables of mAP: the metric, the split and the ties behind each, as its source states them (``tables.yaml``).

The values of an entry are text: ``printed`` is the name in the table, ``other names`` are those of the same metric
elsewhere, ``metric`` is the one here, and ``split`` is a registered one or a description.
"""

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from protocol import registry
from protocol.checks import need

_SPELLINGS = (
    (r"(?<=\d),(?=\d{3})|(?<=[a-z])[-_](?=\w)", ""),  # 5,000 and CIFAR-10
    (r"@(\d+)k\b", r"@\g<1>000"),
    (r"@(?:-1|all)\b", "@all"),
    (r"\bm?ap(?=@)", "map"),
    (r"@(\d+)", r"@\1;"),  # so that @500 is no part of @5000
)
"""What is replaced in lower-case text, in this order, so that the spellings of a metric or a dataset become one."""


@functools.cache
def all_tables() -> list[dict[str, str]]:
    """Return all tables, with the denominator of each metric and the sizes of a registered split."""
    tables = need("yaml", "report").safe_load(Path(__file__).with_name("tables.yaml").read_bytes())
    for table in tables:
        table["metric"] += f"; denominator: {registry.entry('metric', table['metric']).denominator}"
        if table["split"] in registry.names("split"):
            table["split"] += f" ({registry.entry('split', table['split']).summary})"
    return list(tables)


def matching(entries: Sequence[dict[str, str]], words: Sequence[str]) -> list[dict[str, str]]:
    """Return the entries that contain all texts, or else all words of these, in any spelling of metrics and datasets.

    Examples
    --------
    >>> [table["printed"] for table in matching(all_tables(), ["mAP@5k", "NUSWIDE", "talr"])]
    ['AP@5K']
    """
    texts = [_one_spelling(" ".join(entry.values())) for entry in entries]
    for parts in (words, " ".join(words).split()):
        required = list(map(_one_spelling, parts))
        if found := [one for one, text in zip(entries, texts, strict=True) if all(part in text for part in required)]:
            return found
    return []


def _one_spelling(text: str) -> str:
    text = text.casefold()
    for pattern, spelling in _SPELLINGS:
        text = re.sub(pattern, spelling, text)
    return text

"""The ledger as text: a table for the terminal, one claim in full, a table for the README."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from protocol import checks
from protocol.papers._claim import NOT_REPLICATED, REFUTED, SOME_FAIL, STATUSES, SUBSTITUTE_NOT_REPLICATED
from protocol.scores import tables

_SHORT = {status: status.replace(" on a substitute", ", substitute") for status in STATUSES}
_PARTS = ("place", "claim", "expected", "ours", "status", "parts", "note")
_DISAGREEING = (REFUTED, NOT_REPLICATED, SUBSTITUTE_NOT_REPLICATED, SOME_FAIL)

Entries = Sequence[dict[str, str]]


def totals(entries: Entries) -> dict[str, int]:
    """Return the number of claims of each status, all statuses in their order."""
    return {status: sum(entry["status"] == status for entry in entries) for status in STATUSES}


def table(entries: Entries, *, width: int | None = None) -> str:
    """Return a ledger as a table, paper by paper, of `width` columns or the width of the terminal."""
    if not entries:
        return "no claims"
    width = max(60, width or shutil.get_terminal_size((100, 24)).columns)
    parts = [
        "\n".join([*textwrap.wrap(paper, width), *_lines(list(of_paper), width)])
        for paper, of_paper in groupby(entries, key=lambda entry: entry["paper"])
    ]
    by_status = ", ".join(f"{n} {status}" for status, n in totals(entries).items() if n)
    total = f"{checks.counted(len(entries), 'claim')}: {by_status}"
    return "\n\n".join([*parts, "\n".join(textwrap.wrap(total, width))])


def _lines(entries: Entries, width: int) -> Iterator[str]:
    ids, statuses = max(len(entry["id"]) for entry in entries), max(map(len, _SHORT.values()))
    indent = " " * (ids + statuses + 6)
    for entry in entries:
        start = f"  {entry['id']:<{ids}}  {_SHORT[entry['status']]:<{statuses}}  "
        yield from textwrap.wrap(
            entry["claim"], width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
        )


def full(entry: dict[str, str], *, width: int | None = None) -> str:
    """Return one claim in full."""
    width = max(60, width or shutil.get_terminal_size((100, 24)).columns)
    lines = textwrap.wrap(f"{entry['id']}  {entry['paper']}", width)
    margin = " " * (max(map(len, _PARTS)) + 4)
    for name in _PARTS:
        start = f"  {name}".ljust(len(margin))
        for paragraph in (entry[name] or "none").split("\n"):
            lines += textwrap.wrap(
                paragraph, width, initial_indent=start, subsequent_indent=margin, break_on_hyphens=False
            )
            start = margin
    return "\n".join(lines)


def markdown(entries: Entries) -> str:
    """Return two tables: the totals by paper, and the claims of which some part does not hold."""
    papers = [(paper, list(of_paper)) for paper, of_paper in groupby(entries, key=lambda entry: entry["paper"])]
    rows = [[name, *map(str, totals(of).values()), str(len(of))] for name, of in [*papers, ("all", list(entries))]]
    disagreeing = [
        [f"`{entry['id']}`", entry["status"], entry["parts"], entry["place"], entry["claim"]]
        for status in _DISAGREEING
        for entry in entries
        if entry["status"] == status
    ]
    parts = [tables.markdown(["paper", *STATUSES, "claims"], rows)]
    if disagreeing:
        parts.append(tables.markdown(["id", "status", "parts", "place", "claim"], disagreeing))
    return "\n\n".join(parts)

"""The ledger as text: a table for the terminal, one claim in full, a table for the README."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from protocol.claims._claim import CONTRADICTED, STATUSES

_SHORT = dict(zip(STATUSES, ("reproduced", "by convention", "contradicted", "not run"), strict=True))
_LABELS = {
    "place": "place",
    "claim": "claim",
    "expected": "expected",
    "ours": "ours",
    "status": "status",
    "note": "note",
}

Entries = Sequence[dict[str, str]]


def totals(entries: Entries) -> dict[str, int]:
    """Return the number of claims of each status, all statuses in their order."""
    return {status: sum(entry["status"] == status for entry in entries) for status in STATUSES}


def table(entries: Entries, *, width: int | None = None) -> str:
    """Return a ledger as a table of `width` columns, or the terminal's: paper by paper, a line or more a claim."""
    if not entries:
        return "no claims"
    width = max(60, width or shutil.get_terminal_size((100, 24)).columns)
    parts = [
        "\n".join([*textwrap.wrap(paper, width), *_lines(list(of_paper), width)])
        for paper, of_paper in groupby(entries, key=lambda entry: entry["paper"])
    ]
    counted = [f"{n} {status}" for status, n in totals(entries).items() if n]
    return "\n\n".join([*parts, "\n".join(textwrap.wrap(f"{len(entries)} claims: {', '.join(counted)}", width))])


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
    label = max(map(len, _LABELS)) + 4
    for name in _LABELS:
        lines += textwrap.wrap(
            entry[name] or "none",
            width,
            initial_indent=f"  {name:<{label - 2}}",
            subsequent_indent=" " * label,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def markdown(entries: Entries, *, statuses: Iterable[str] = (CONTRADICTED,)) -> str:
    """Return the totals by paper as a table, and the claims of some statuses as another, as the README holds them."""
    papers = [(paper, list(of_paper)) for paper, of_paper in groupby(entries, key=lambda entry: entry["paper"])]
    rows = [[paper, *map(str, totals(of_paper).values()), str(len(of_paper))] for paper, of_paper in papers]
    rows.append(["all", *map(str, totals(entries).values()), str(len(entries))])
    parts = [_markdown_table(["paper", *STATUSES, "claims"], rows)]
    for status in statuses:
        found = [
            [entry[name] for name in ("id", "place", "claim", "expected", "ours")]
            for entry in entries
            if entry["status"] == status
        ]
        if found:
            parts.append(_markdown_table([status, "place", "claim", "expected", "ours"], found))
    return "\n\n".join(parts)


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(cell.replace("|", "·") for cell in row) for row in (header, *rows)]
    lines.insert(1, "|".join(["---"] * len(header)))
    return "\n".join(f"| {line} |" if "---" not in line else f"|{line}|" for line in lines)

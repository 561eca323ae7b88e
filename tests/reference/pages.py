"""The stored tables of ``results/reference/`` and their pages: reading, writing, and templates in ``pages/``."""

import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from protocol.scores import tables

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
REFERENCE = RESULTS / "reference"


def read(folder: str, *names: str, **options: Any) -> list[pd.DataFrame]:
    """Return stored tables."""
    return [pd.read_csv(REFERENCE / folder / f"{name}.csv", **options) for name in names]


def write(table: pd.DataFrame, path: Path, digits: str | None = "%.6g") -> None:
    """Write a table as CSV; the folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format=digits, lineterminator="\n")


def markdown(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    return tables.markdown([str(name) for name in header], [[str(cell) for cell in row] for row in rows])


def grid(
    table: pd.DataFrame,
    rows: str | list[str],
    columns: str,
    cell: str,
    *,
    order: Iterable[str] | None = None,
    head: str = "{}",
) -> str:
    """Return a Markdown table with a row for each combination of `rows`, and a column for each value of `columns`.

    `cell` is the format of a cell, and `head` that of a column's head. Rows are in the order in which they occur, or
    `order` lists the values of the first of `rows` that are shown, in their order. Columns of numbers are sorted.
    """
    names = [rows] if isinstance(rows, str) else rows
    if order is not None:
        rank = {value: number for number, value in enumerate(order)}
        table = table[table[names[0]].isin(rank)].sort_values(names[0], key=lambda c: c.map(rank), kind="stable")
    heads = list(dict.fromkeys(table[columns]))
    heads = sorted(heads) if pd.api.types.is_numeric_dtype(table[columns]) else heads
    cells: dict[tuple, dict] = {}
    for row in table.to_dict("records"):
        cells.setdefault(tuple(row[name] for name in names), {}).setdefault(row[columns], cell.format(**row))
    lines = [[*key, *(of_key.get(value, "") for value in heads)] for key, of_key in cells.items()]
    return markdown([*names, *map(head.format, heads)], lines)


def wrapped(text: str) -> str:
    """Return paragraphs of at most 120 characters a line."""
    return "\n\n".join(textwrap.fill(part, 120, break_on_hyphens=False) for part in text.strip().split("\n\n"))


def render(name: str, **values: Any) -> str:
    """Return a page from its template; two or more empty lines become one."""
    templates = Environment(  # noqa: S701 - Markdown, not HTML
        loader=FileSystemLoader(Path(__file__).with_name("pages")),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {"wrapped": wrapped, "json": json.dumps}
    templates.globals |= {"grid": grid, "markdown": markdown, "listed": listed}
    text = templates.get_template(f"{name}.md").render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def store(folder: str, page: str) -> None:
    """Write the page of a folder."""
    (REFERENCE / folder).mkdir(parents=True, exist_ok=True)
    (REFERENCE / folder / "README.md").write_text(page)


def provenance_of_codes(record: dict[str, Any]) -> dict[str, Any]:
    """Return how the codes of a file were made, from its provenance: seeds by code length, versions and notes."""
    seeds = {n_bits: fit["made_of"]["seed"] for n_bits, fit in record["fits"].items()}
    return {"seeds": seeds, "versions": record["versions"], "notes": record["notes"]}


def listed(versions: dict[str, str]) -> str:
    """Return the versions of libraries as text."""
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))

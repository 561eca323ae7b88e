"""The result type of the functions that draw figures and tables of papers, and helpers that they share."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import counted, need
from protocol.report.description import vega
from protocol.report.figure import ABSENT, Figure, listed
from protocol.scores.tables import Table
from protocol.styles import COLOURS, MARKERS

if TYPE_CHECKING:
    import pandas as pd

PACKAGE_DATA = "charts.yaml"
PLACE = ("experiment", "dataset", "feature", "ground_truth", "split")
"""The columns that identify the source of a value."""

PRINTED = "printed"
"""The text in the column `source` for numbers that a paper prints."""


@dataclass(frozen=True)
class Drawn:
    """A figure or table of a paper from our results.

    Parameters
    ----------
    figures : sequence of Figure
        One for each place and code length.
    tables : sequence of Table
    missing : str
        The results that the paper's figure shows and that are missing, as a phrase; "" if none is missing.
    """

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    missing: str = ""


def printed_name(hasher: str, plugin: str) -> str:
    """Return a hasher's name as papers print it, followed by what a configuration adds to the name.

    Examples
    --------
    >>> printed_name("pca_rr", "pca_rr"), printed_name("lsh", "lsh"), printed_name("talr_ap_40", "talr_ap")
    ('PCA-RR', 'LSH', 'TALR-AP 40')
    >>> printed_name("m_dsh_4", "m_dsh"), printed_name("mine", "itq")
    ('4-DSH', 'mine')
    """
    rest = variant_of(hasher, plugin)
    if plugin == "m_dsh" and rest:
        return f"{rest}-DSH"
    return registry.printed_name("hasher", plugin, hasher) if plugin in registry.names("hasher") else hasher


def variant_of(hasher: str, plugin: str) -> str:
    """Return what the name of a hasher adds to that of its plug-in, as words.

    Examples
    --------
    >>> variant_of("buffer_zone_margin_1", "buffer_zone"), variant_of("itq", "itq")
    ('margin 1', '')
    """
    return hasher.removeprefix(plugin).strip("_").replace("_", " ")


def several(values: "pd.Series") -> bool:
    """Return whether a column has different values."""
    return len(values.unique()) > 1


def plugin_of(hasher: str) -> str:
    """Return the hasher that a name in a table begins with, or the name itself.

    Examples
    --------
    >>> plugin_of("talr_ap_40"), plugin_of("m_dsh"), plugin_of("theirs")
    ('talr_ap', 'm_dsh', 'theirs')
    """
    known = [name for name in registry.names("hasher") if f"{hasher}_".startswith(f"{name}_")]
    return max(known, key=len, default=hasher)


def by_place(rows: "pd.DataFrame", *columns: str) -> "Iterator[tuple[dict[str, Any], pd.DataFrame]]":
    """Yield the rows of each place, and of each value of further columns, in the order in which they occur."""
    names = [*(name for name in PLACE if name in rows), *columns]
    for values, own in rows.groupby(names, sort=False):
        yield dict(zip(names, values, strict=True)), own


def file_name(figure: str, place: dict[str, Any], *more: object) -> str:
    """Return the name of a figure's files: the paper's name for it, the place, and more."""
    parts = [figure, *(place[name] for name in PLACE if place.get(name)), *more]
    return re.sub(r"[^\w.]|_", "-", "-".join(map(str, parts)))


def where(place: dict[str, Any]) -> str:
    """Return the place in words, as it ends a sentence."""
    named = [place[name] for name in ("dataset", "feature", "ground_truth") if place.get(name)]
    named += [f"{place['split']} split"] if place.get("split") else []
    return ", ".join([*named, place["experiment"]])


def substitute(place: dict[str, Any], **paper: str) -> str:
    """Return a sentence on the values of a place that substitute for the paper's values `paper`, or "".

    Examples
    --------
    >>> substitute({"dataset": "digits", "feature": "gist"}, dataset="cifar10")
    'A substitute: digits in place of cifar10.'
    """
    others = [f"{place[name]} in place of {value}" for name, value in paper.items() if place[name] != value]
    return f"A substitute: {listed(others)}." if others else ""


def sentences(*parts: str) -> str:
    """Return the sentences that are not empty, as a paragraph."""
    return " ".join(part for part in parts if part)


def chosen_lengths(found: Iterable[int], paper: Sequence[int]) -> list[int]:
    """Return the code lengths of the paper that were found, or if there are none, all that were found."""
    there = sorted(set(map(int, found)))
    return [n_bits for n_bits in there if n_bits in paper] or there


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that compares the numbers in names as numbers.

    Examples
    --------
    >>> sorted(["m_dsh_12", "m_dsh_4", "deep_squared"], key=natural)
    ['deep_squared', 'm_dsh_4', 'm_dsh_12']
    """
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", name)]


def lacking(expected: Iterable[Any], found: Iterable[Any]) -> list[str]:
    """Return those of the expected values that were not found, as text."""
    there = set(found)
    return [str(value) for value in expected if value not in there]


def cell(value: float | None, digits: int) -> str:
    """Return a value as a paper's table prints it.

    Examples
    --------
    >>> cell(0.72, 3), cell(None, 3) == ABSENT
    ('0.720', True)
    """
    return ABSENT if value is None else f"{value:.{digits}f}"


def chart(name: str, **values: Any) -> Callable[[], dict[str, Any]]:
    """Return a chart of ``charts.yaml`` with its values, as `Figure` has it."""
    return functools.partial(vega, _charts()[name], values)


@functools.cache
def _charts() -> dict[str, Any]:
    content = need("yaml", "report").safe_load(Path(__file__).with_name(PACKAGE_DATA).read_bytes())
    return dict(content["charts"])


def series(names: Sequence[str]) -> dict[str, Any]:
    """Return the values of a chart that depend on its series: a colour and a shape for each."""
    ranges = {"colour": COLOURS, "shape": MARKERS}
    return {
        part: {"domain": list(names), "range": [values[i % len(values)] for i in range(len(names))]}
        for part, values in ranges.items()
    }


def runs(rows: "pd.DataFrame") -> str:
    """Return the number of runs in words, with what the bars are."""
    n_runs = int(rows["n_runs"].max())
    bars = ", bars are one standard deviation" if n_runs > 1 and rows["std"].notna().any() else ""
    return f"{counted(n_runs, 'run')}{bars}"

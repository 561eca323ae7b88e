"""The page docs/reference/cheat-sheet.md, from the registered metrics and the known evaluators."""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from protocol.evaluation import CONVENTIONS
from protocol.evaluators import VARIANTS

_ABOVE = """\
K, R and beta stand for numbers, as in `mAP@100[all]` and `precision@r2`. Next to each choice is a program that makes
it; [Evaluations](evaluations.md) has all known ones."""
_TIE_ORDERS = {"best": "best", "worst": "worst", "database-order": "index"}  # with their names in VARIANTS


def cheat_sheet(families: Mapping[str, Sequence[Any]]) -> str:
    """Return a page to print: denominators, orders of ties, undefined values and the names of all metrics."""
    bases: dict[str, list[Any]] = {}
    for entry in itertools.chain(*families.values()):
        bases.setdefault(entry.name.partition("[")[0], []).append(entry)
    conventions = ", ".join(f"`{one.name}`" for one in CONVENTIONS if one.drops)
    default = (
        "They count as 0. `undefined: drop` in a config file leaves the query out of the mean; so do the conventions "
        f"{conventions} for some metrics."
    )
    with_orders = [f"`{base}`" for base, group in bases.items() if any(map(is_tie_order, group)) and base != "mAP"]
    parts = [
        "# Cheat sheet",
        _ABOVE,
        "## Four denominators of average precision",
        _denominators(bases["mAP@K"]),
        "## Orders of ties",
        _orders(bases["mAP"]),
        f"Also of {', '.join(with_orders)}.",
        "## Undefined values (0/0)",
        default,
        _undefined(bases),
        "## Metrics",
        "\n".join(itertools.starmap(_in_brief, bases.items())),
    ]
    return "\n\n".join(parts) + "\n"


def is_tie_order(metric: Any) -> bool:
    """Return whether a metric is the variant of another one for a fixed order of ties."""
    return bool(_TIE_ORDERS.keys() & set(re.split(r"[][,]", metric.name)))


def _denominators(metrics: Sequence[Any]) -> str:
    rows = [(f"`{one.name}`", one.denominator, _program("denominator", _variant(one))) for one in metrics]
    header = ("name", "divides the precisions at the relevant ranks by", "program")
    return _table(header, [*rows, ("(none)", "K", _program("denominator", "K"))])


def _orders(metrics: Sequence[Any]) -> str:
    rows = [(f"`{one.name}`", one.ties, _program("ties", _TIE_ORDERS.get(_variant(one), ""))) for one in metrics]
    rows += [("(none)", "Arbitrary, that of an unstable sort.", _program("ties", "random"))]
    return _table(("name", "order", "program"), rows)


def _variant(metric: Any) -> str:
    return str(metric.name).partition("[")[2].rstrip("]")


def _program(family: str, choice: str) -> str:
    """Return the first program that makes a choice, if one is known."""
    sources = VARIANTS[family, choice].sources if (family, choice) in VARIANTS else ()
    return re.split(r", (?!in )", sources[0])[0] if sources else ""


def _undefined(bases: Mapping[str, Sequence[Any]]) -> str:
    """Return a list of when metrics are undefined, each with the metrics; a base stands for all its variants."""
    names: dict[str, list[str]] = {}
    for base, group in bases.items():
        alike = len({entry.undefined for entry in group}) == 1
        for entry in group[:1] if alike else group:
            if alike or not is_tie_order(entry):
                names.setdefault(entry.undefined, []).append(f"`{base if alike else entry.name}`")
    return "\n".join(f"- {text} {', '.join(of)}." for text, of in names.items())


def _in_brief(base: str, group: Sequence[Any]) -> str:
    """Return the names of a metric and its variants, without those for orders of ties, and the start of its summary."""
    group = sorted((entry for entry in group if not is_tie_order(entry)), key=lambda entry: len(entry.name))
    names = [f"`{base}`", *(f"`{entry.name.removeprefix(base)}`" for entry in group if entry.name != base)]
    ends = r", as |; |(?<=curve) by " + (r"|, divided by" if "[all]" in group[0].name else "")
    return f"- {' '.join(names)}: {re.split(ends, group[0].summary)[0].rstrip('.')}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], f"{'|---' * len(header)}|", *lines[1:]])

"""The statements of the papers: each paper's folder has them in ``claims.yaml``; an entry becomes a `Claim`.

The keys of an entry are those of `Claim`, without ``paper``, ``check`` and ``proof``, and one that defines the check:

``check``
    The name of a function in the paper's folder or in `protocol.papers.rankings`. It may have the parameters
    ``results`` (without it, it is a proof) and ``expected``; the key ``arguments`` has the others. Its docstring is the
    default of ``how``.
``scores``
    Metrics of hand-made rankings, such as ``mAP of +-+``: by name, or by reading and name; a value may be a list. A
    ranking consists of signs (+ is relevant), or is named in the key ``rankings``, which has the numbers of retrieved
    and relevant items at each distance.
``statistics``
    A dataset and names of its statistics.
``compare``
    Comparisons of stored results, see `protocol.papers.comparisons`. They are a proof if they are of printed values.
``means``
    A list of selections of rows. ``where`` has values of columns, ``n_bits`` the code lengths in order, and
    ``hashers``, by name, the hasher with a mean at all of them.

With ``statistics`` and ``means``, the key ``shown`` has further values: a number, or a dataset and names of statistics
with their mean.
Text such as 2/3 in ``expected`` is a number.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from protocol.checks import ProtocolError, need, one_of
from protocol.papers import rankings as shared
from protocol.papers.claim import AS_PRINTED, Claim, Evidence, Values
from protocol.papers.comparisons import compared
from protocol.papers.rankings import histograms, untied, value
from protocol.papers.results import Mean, Results

if TYPE_CHECKING:
    import pandas as pd

PACKAGE_DATA = "*/claims.yaml"
"""The files that are read here, for `protocol.provenance.sources`."""


@functools.cache
def statements(paper: str) -> Mapping[str, Any]:
    """Return the title ``paper`` and the entries ``claims`` of a paper, given its folder.

    Raises
    ------
    ProtocolError
        If PyYAML is not installed.
    """
    yaml = need("yaml", "report")
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    content: dict[str, Any] = yaml.load((Path(__file__).parent / paper / "claims.yaml").read_bytes(), loader)
    for entry in content["claims"]:
        entry["expected"] = _numbers(entry["expected"])
    return content


def expected(paper: str, number: str) -> Mapping[str, Any]:
    """Return the expected values of a claim, given the folder of its paper."""
    values: Mapping[str, Any] = next(one["expected"] for one in statements(paper)["claims"] if one["id"] == number)
    return values


def claims_of(module: ModuleType) -> list[Claim]:
    """Return the claims of a paper, given the module in its folder that has the functions of its checks."""
    content, functions = statements(module.__name__.split(".")[-2]), vars(shared) | vars(module)
    return [_claim(content["paper"], entry, functions) for entry in content["claims"]]


def _numbers(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _numbers(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_numbers(value) for value in part]
    return float(Fraction(part)) if isinstance(part, str) else part


def _claim(paper: str, entry: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Claim:
    check: Callable[..., Values | Evidence]
    how, proof = entry.get("how", ""), "scores" in entry
    if "scores" in entry:
        check = functools.partial(_scores, entry["scores"], entry.get("rankings", {}))
    elif "check" in entry:
        function = functions[entry["check"]]
        how = how or " ".join((inspect.getdoc(function) or "").split())
        parameters = inspect.signature(function).parameters
        proof = "results" not in parameters
        arguments = {"expected": entry["expected"]} if "expected" in parameters else {}
        check = functools.partial(function, **arguments, **entry.get("arguments", {}))
    elif "compare" in entry:
        proof = all("printed" in table for table in entry["compare"])
        check = functools.partial(_compared, entry["id"], entry["compare"], functions, *[Results()] * proof)
    else:
        check = functools.partial(_read, entry)
    defining = ("check", "compare", "arguments", "scores", "rankings", "statistics", "means", "shown", "how")
    return Claim(
        paper=paper, check=check, proof=proof, how=how, **{k: v for k, v in entry.items() if k not in defining}
    )


def _compared(
    number: str, tables: Sequence[Mapping[str, Any]], functions: Mapping[str, Callable[..., Any]], results: Results
) -> Evidence:
    """Compare stored results, or values that a paper prints; the message of an error begins with the claim's id."""

    def rows_of(table: Mapping[str, Any]) -> "tuple[pd.DataFrame, Collection[str]]":
        if "printed" in table:
            return _printed(*table["printed"]), ()
        if "from" in table:
            rows, substitutes = functions[one_of(table["from"], functions, "from")](
                results, **table.get("arguments", {})
            )
            return rows, substitutes
        if "statistics" in table:
            return results.statistics(table["statistics"]), ()
        return results.frame(**table["rows"]), ()

    try:
        return compared(tables, rows_of)
    except ProtocolError as error:
        raise ProtocolError(f"claim {number}: {error}") from error


def _printed(paper: str, number: str) -> "pd.DataFrame":
    """Return the expected lists of a claim as rows: ``name``, ``place`` in the list, and the columns of `Mean`."""
    import pandas as pd

    lists = expected(paper, number).items()
    rows = [(name, place, *Mean(value, 0.0, 1)) for name, values in lists for place, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["name", "place", *Mean._fields])


def _scores(scores: Mapping[str, Any], rankings: Mapping[str, Any]) -> Evidence:
    def score(expression: Any) -> Any:
        if isinstance(expression, dict):
            return {name: score(part) for name, part in expression.items()}
        if isinstance(expression, list):
            return [score(part) for part in expression]
        metric, ranking = expression.split(" of ")
        return value(histograms(**rankings[ranking]) if ranking in rankings else untied(ranking), metric)

    values = score(scores)
    return Evidence(values if all(isinstance(part, dict) for part in values.values()) else {AS_PRINTED: values})


def _read(entry: Mapping[str, Any], results: Results) -> Values:
    """Return statistics and means, except those that the results lack, and the values that are only shown."""
    statistics = entry.get("statistics", {}).items()
    values = {name: [results.statistic(dataset, one) for one in names] for name, (dataset, *names) in statistics}
    for selection in entry.get("means", ()):
        for name, hasher in selection["hashers"].items():
            rows = results.frame(extension="none", hasher=hasher, **selection["where"])
            by_length = dict(zip(rows["n_bits"], rows["mean"].tolist(), strict=True))
            values[name] = [by_length.get(n_bits) for n_bits in selection["n_bits"]]
    shown = {name: _shown(value, results) for name, value in entry.get("shown", {}).items()}
    values = {name: numbers for name, numbers in values.items() if None not in numbers}
    return values | {name: value for name, value in shown.items() if value is not None}


def _shown(value: Any, results: Results) -> float | None:
    """Return a number, or the mean of the statistics that a list names after their dataset; None if one is missing."""
    if not isinstance(value, list):
        return float(value)
    numbers = [results.statistic(value[0], name) for name in value[1:]]
    return None if None in numbers else float(np.mean(numbers))  # type: ignore[arg-type]

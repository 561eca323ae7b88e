"""The claims of the papers: each paper's YAML file has them, and an entry becomes a `Claim`.

The keys of an entry are the parameters of `Claim`, without ``paper``. One of them says how the claim is checked:

``test``
    The test that holds the claim without data: arithmetic, an enumeration, a counter-example, or a comparison of
    constants. Its numbers are the expected ones, apart from those in ``ours``.
``compare``
    Comparisons of stored results, see `protocol.papers.comparisons`.
``statistics``
    By part, a dataset and the names of its statistics.

Text such as 2/3 in ``expected`` is a number.
"""

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from protocol import registry
from protocol.checks import need
from protocol.papers.comparisons import AS_PRINTED, Difference, Results, compared
from protocol.report.figure import replaced

PACKAGE_DATA = "*.yaml"
"""The files that are read here and in `protocol.papers.figures`, for `protocol.provenance.sources`."""

PAPERS = ("mlgap", "metrics", "ramap", "talr", "thesis")

_HOLDS = {
    "test": ("proved", "refuted"),
    "results": ("replicated", "not replicated"),
    "substitute": ("replicated on a substitute", "not replicated on a substitute"),
}
"""The statuses of claims of which all parts hold, and of which none does, by what decided them."""
SOME_FAIL, SO_FAR, NOT_DECIDED, NOT_RUN = "some parts fail", "holds as far as run", "not decided", "not run"
STATUSES = (*(status for pair in _HOLDS.values() for status in pair), SOME_FAIL, SO_FAR, NOT_DECIDED, NOT_RUN)

RELATIONS = MappingProxyType({"<=": operator.le, "<": operator.lt, ">": operator.gt})

Values = Mapping[str, Any]
"""Numbers by name; a value may also be a list, a `Difference`, or a text that says why none decides."""


@dataclass(frozen=True)
class Verdict:
    """The result of judging a claim.

    Parameters
    ----------
    status : str
        One of `STATUSES`.
    by_reading : mapping of str to Values
        The computed values under each reading of the claim; `AS_PRINTED` is that of the paper.
    substitute : str
        The substitute for the paper's data, features or networks; empty if there is none.
    reading : str
        The reading by which the claim was judged.
    parts : mapping of str to bool or None
        Whether each part holds under that reading; None if there is no computed value, or it decides nothing.
    """

    status: str
    by_reading: Mapping[str, Values]
    substitute: str
    reading: str
    parts: Mapping[str, bool | None]

    def named(self, holds: bool | None) -> list[str]:
        """Return the names of the parts that hold (True), do not hold (False), or are not decided (None)."""
        return [name for name, outcome in self.parts.items() if outcome is holds]

    @property
    def not_run(self) -> list[str]:
        """The names of the parts without a computed value."""
        return [name for name in self.named(None) if name not in self.by_reading.get(self.reading, {})]

    @property
    def not_decided(self) -> list[str]:
        """The names of the parts with a computed value that decides nothing."""
        return [name for name in self.named(None) if name not in self.not_run]

    @property
    def summary(self) -> str:
        """The number of parts that hold, the reading and the substitute, as text."""
        text = f"{len(self.named(True))} of {len(self.parts)} parts hold"
        text += f", {len(self.not_decided)} not decided" if self.not_decided else ""
        text += f", {len(self.not_run)} not run" if self.not_run else ""
        text = text if len(self.parts) > 1 else ""
        read = f"read as: {self.reading}" if self.reading != AS_PRINTED else ""
        return text if self.status == NOT_RUN else "; ".join(filter(None, (text, read, self.substitute)))


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and what decides it.

    Each expected value is a part of the claim and is judged separately: it holds, does not hold, is not decided (the
    value is undefined, or a difference within its interval), or was not run. If all parts hold, the claim is proved (by
    a test) or replicated (by results); if none holds, it is refuted or not replicated; otherwise, some parts fail, or
    it holds as far as run.

    Parameters
    ----------
    id, paper, place, statement : str
        The claim's number in the list of claims, its paper, the place there, and the statement in our words.
    expected : mapping of str to number, list or mapping
        The value of each part that the paper prints or implies. It is compared with the computed value of the same
        name. Computed values of other names are only shown.
    relation : {"=", "<=", "<", ">"}
        The required relation of each computed value to the expected one.
    within : float or mapping of str to float
        The tolerance of the relation; by name if it differs, with 0 for names that are missing.
    test, ours, reading
        The test that holds the claim, its values that are not the expected ones, and how it reads the claim.
    compare, statistics
        What is read from results.
    how, needs, note : str
        How results are read; what is needed to run all parts; an explanation of the status.
    commands : sequence of str
        The commands that make these results, in a checkout; () if this project has none.
    errata : sequence of str
        The errata in the list of claims that concern this claim.
    """

    id: str
    paper: str
    place: str
    statement: str
    expected: Values
    relation: str = "="
    within: float | Mapping[str, float] = 0.0
    test: str = ""
    ours: Values = field(default_factory=dict)
    reading: str = AS_PRINTED
    compare: Sequence[Mapping[str, Any]] = ()
    statistics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    how: str = ""
    commands: Sequence[str] = ()
    needs: str = ""
    note: str = ""
    errata: Sequence[str] = ()

    @property
    def reproduction(self) -> str:
        """The commands that reproduce the check, in one line, or what it needs instead."""
        if self.test:
            return f"pytest {self.test}"
        return "; ".join(self.commands) or f"no command: this needs {self.needs}."

    def judge(self, results: Results) -> Verdict:
        """Return the verdict that follows from a test or from results."""
        if self.test:
            return self.verdict({self.reading: dict(self.expected) | dict(self.ours)})
        if self.compare:
            return self.verdict(*compared(self.compare, results))
        values = {}
        for name, (dataset, *statistics) in self.statistics.items():
            counted = results.statistics(dataset).set_index("statistic")["mean"]
            if set(statistics) <= set(counted.index):
                values[name] = counted[statistics].tolist()
        return self.verdict({AS_PRINTED: values} if values else {})

    def verdict(self, by_reading: Mapping[str, Values], substitute: str = "") -> Verdict:
        """Compare values with the expected ones.

        A claim is judged by the paper's own reading if there are values for it, otherwise by the reading with the most
        parts that hold.
        """
        parts_by_reading = {reading: self._parts(values) for reading, values in by_reading.items()}
        n_parts = {name: list(parts.values()).count(True) for name, parts in parts_by_reading.items()}
        reading = AS_PRINTED if AS_PRINTED in by_reading else max(n_parts, key=n_parts.__getitem__, default=AS_PRINTED)
        parts = parts_by_reading.get(reading, dict.fromkeys(self.expected))
        is_run = bool(self.expected.keys() & by_reading.get(reading, {}).keys())
        decided_by = "test" if self.test else "substitute" if substitute else "results"
        return Verdict(_status(set(parts.values()), is_run, decided_by), by_reading, substitute, reading, parts)

    def tolerance(self, name: str) -> float:
        """Return the tolerance of a part, given its name."""
        return self.within.get(name, 0.0) if isinstance(self.within, Mapping) else self.within

    def agreeing(self, by_reading: Mapping[str, Values]) -> list[str]:
        """Return the readings under which all parts hold."""
        return [name for name, values in by_reading.items() if all(self._parts(values).values())]

    def _parts(self, values: Values) -> dict[str, bool | None]:
        return {name: self._compares(name, values[name]) if name in values else None for name in self.expected}

    def _compares(self, name: str, computed: Any) -> bool | None:
        """Return whether a computed value has the required relation to the expected one; None for NaN or a text.

        A difference is decided only if every value in its interval has, or lacks, the relation.
        """
        if isinstance(computed, str):
            return None
        if isinstance(computed, Difference):
            ends = [*computed.ends]
            if self.relation == "=":  # nearest to the expected value and farthest from it
                value = self.expected[name]
                ends = [min(max(value, ends[0]), ends[1]), max(ends, key=lambda end: abs(end - value))]
            outcomes = {self._compares(name, end) for end in ends}
            return outcomes.pop() if len(outcomes) == 1 else None
        expected, ours = (np.array(list(leaves(value)), dtype=np.float64) for value in (self.expected[name], computed))
        if expected.shape != ours.shape:
            return False
        if np.isnan(ours).any():
            return None
        within = self.tolerance(name)
        if self.relation == "=":
            return bool((np.abs(ours - expected) <= within).all())
        return bool(RELATIONS[self.relation](ours, expected + within).all())


def _status(outcomes: set[bool | None], is_run: bool, decided_by: str) -> str:
    """Return the status that follows from the outcomes of the parts."""
    if outcomes == {None}:
        return NOT_DECIDED if is_run else NOT_RUN
    if len(outcomes) > 1:
        return SOME_FAIL if False in outcomes else SO_FAR
    holds, fails = _HOLDS[decided_by]
    return fails if False in outcomes else holds


def leaves(value: Any) -> Iterator[float]:
    """Yield the numbers in a value, in order."""
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(part)
    else:
        yield float(value)


@functools.cache
def all_claims() -> list[Claim]:
    """Return all claims, paper by paper.

    Raises
    ------
    ProtocolError
        If PyYAML is not installed.
    """
    claims = []
    for paper in PAPERS:
        content = read(paper)
        for entry in content["claims"]:
            values = {key: entry[key] for key in ("expected", "ours") if key in entry}
            claims.append(Claim(paper=content["paper"], **entry | replaced(values, lambda text: float(Fraction(text)))))
    return claims


def all_tables() -> list[dict[str, str]]:
    """Return the printed tables, with the denominator of each metric and the sizes of a registered split."""
    tables: list[dict[str, str]] = read("tables")["tables"]
    for table in tables:
        table["metric"] += f"; denominator: {registry.METRICS.entry(table['metric']).denominator}"
        if table["split"] in registry.names("split"):
            table["split"] += f" ({registry.entry('split', table['split']).summary})"
    return tables


def read(name: str) -> Any:
    """Return the content of a YAML file of this folder."""
    yaml = need("yaml", "report")
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    return yaml.load(Path(__file__).with_name(f"{name}.yaml").read_bytes(), loader)


def printed() -> dict[str, Values]:
    """Return the numbers that the papers print: for the id of each claim, its expected values by name."""
    return {claim.id: claim.expected for claim in all_claims()}

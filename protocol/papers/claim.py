"""Claims, and the derivation of their status from computed evidence."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from protocol.papers.results import Mean, Results

PROVED = "proved"
REFUTED = "refuted"
REPLICATED = "replicated"
NOT_REPLICATED = "not replicated"
SUBSTITUTE_REPLICATED = "replicated on a substitute"
SUBSTITUTE_NOT_REPLICATED = "not replicated on a substitute"
SOME_FAIL = "some parts fail"
SO_FAR = "holds as far as run"
NOT_DECIDED = "not decided"
NOT_RUN = "not run"
STATUSES = (
    PROVED,
    REFUTED,
    REPLICATED,
    NOT_REPLICATED,
    SUBSTITUTE_REPLICATED,
    SUBSTITUTE_NOT_REPLICATED,
    SOME_FAIL,
    SO_FAR,
    NOT_DECIDED,
    NOT_RUN,
)

AS_PRINTED = "as printed"
"""The reading that a paper itself states; other readings are conventions that it does not define, or corrections."""

BETWEEN_READINGS = " | "
"""Separates the values under one reading from those under the next, in text."""


def number_of(outcomes: Sequence[bool | None]) -> int | str:
    """Return how many outcomes are True; a text if none is, but some are not decided."""
    undecided = None in outcomes and True not in outcomes
    return f"no difference shown at {outcomes.count(None)}" if undecided else outcomes.count(True)


RELATIONS = MappingProxyType({"<=": operator.le, "<": operator.lt})

Values = Mapping[str, Any]
"""Numbers by name; a value may also be a list, a mapping, a `Difference`, or a text that says why none decides."""


@dataclass(frozen=True)
class Difference:
    """A mean difference between runs, and half the width of its interval at a level of 95 %.

    The interval of a difference that can't be tested has an infinite width, so the difference decides nothing.
    """

    mean: float
    half_width: float

    @classmethod
    def of_runs(cls, mean: float, variance: float, degrees_of_freedom: float) -> Self:
        """Return the difference with the interval of Student's t distribution; infinite if the variance is unknown."""
        if not math.isfinite(variance):
            return cls(mean, math.inf)
        from scipy.special import stdtrit

        return cls(mean, float(stdtrit(degrees_of_freedom, 0.975)) * variance**0.5)

    @classmethod
    def of_means(cls, upper: Mean, lower: Mean) -> Self:
        """Return the difference of two means, with an interval that has no width for single runs.

        The variance of each mean contains `protocol.scores.statistics.shared_variance`, and the number of degrees of
        freedom is Welch's, because summaries don't contain the covariance of the runs.
        """
        mean, rows = upper.mean - lower.mean, [row for row in (upper, lower) if row.std > 0 and row.n_runs > 1]
        if len(rows) < 2:
            return cls(mean, 0)
        variances = [row.std**2 * (1 / row.n_runs + row.shared) for row in rows]
        if not math.isfinite(sum(variances)):
            return cls(mean, math.inf)
        squares = [variance**2 / (row.n_runs - 1) for variance, row in zip(variances, rows, strict=True)]
        return cls.of_runs(mean, sum(variances), sum(variances) ** 2 / sum(squares))

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half_width

    def nearest_and_farthest(self, value: float) -> tuple[float, float]:
        """Return the points of the interval that are nearest to a value and farthest from it."""
        return min(max(value, self.low), self.high), max(self.low, self.high, key=lambda end: abs(end - value))

    def exceeds(self, bound: float) -> bool | None:
        """Return whether the difference is above a bound; None if its interval contains the bound."""
        if 0 < abs(self.mean - bound) <= self.half_width:
            return None
        return self.mean > bound

    def __str__(self) -> str:
        if not self.half_width:
            return f"{self.mean:.6g}"
        if math.isinf(self.half_width):
            return f"{self.mean:.4g}; not tested: n_queries is unknown, or not below n_database"
        none = "; no difference shown" if self.low <= 0 <= self.high else ""
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]{none}"


@dataclass(frozen=True)
class Evidence:
    """The values that a check computed.

    Parameters
    ----------
    by_reading : mapping of str to Values
        Values under each reading of the claim; `AS_PRINTED` is that of the paper.
    substitute : str
        The substitute for the paper's data, features or networks, such as "GIST for AlexNet"; empty if there is none.
    """

    by_reading: Mapping[str, Values]
    substitute: str = ""

    @classmethod
    def as_printed(cls, values: Values, *, substitute: str = "") -> Self:
        """Return evidence for the claim as the paper states it; without values, there is no evidence."""
        return cls({AS_PRINTED: values} if values else {}, substitute)


@dataclass(frozen=True)
class Verdict:
    """The result of judging a claim.

    Parameters
    ----------
    status : str
        One of `STATUSES`.
    evidence : Evidence
        The computed values.
    reading : str
        The reading by which the claim was judged.
    parts : mapping of str to bool or None
        Whether each part holds under that reading; None if there is no computed value, or it decides nothing.
    """

    status: str
    evidence: Evidence
    reading: str
    parts: Mapping[str, bool | None]

    def named(self, holds: bool | None) -> list[str]:
        """Return the names of the parts that hold (True), do not hold (False), or are not decided (None)."""
        return [name for name, found in self.parts.items() if found is holds]

    @property
    def not_run(self) -> list[str]:
        """The names of the parts without a computed value."""
        return [name for name in self.named(None) if name not in self.evidence.by_reading.get(self.reading, {})]

    @property
    def not_decided(self) -> list[str]:
        """The names of the parts with a computed value that decides nothing."""
        return [name for name in self.named(None) if name not in self.not_run]

    @property
    def summary(self) -> str:
        """The number of parts that hold, the reading and the substitute, as text."""
        text = f"{len(self.named(True))} of {len(self.parts)} parts hold" if len(self.parts) > 1 else ""
        for names, what in ((self.not_decided, "not decided"), (self.not_run, "not run")):
            text += f", {len(names)} {what}" if len(self.parts) > 1 and names else ""
        read = self.reading if self.reading != AS_PRINTED and self.status != NOT_RUN else ""
        substitute = self.evidence.substitute if self.status != NOT_RUN else ""
        qualities = (text, f"read as: {read}" if read else "", substitute)
        return "; ".join(quality for quality in qualities if quality)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the check that decides it.

    Each expected value is a part of the claim and is judged separately: it holds, does not hold, is not decided (the
    value is undefined, or a difference within its interval), or was not run. If all parts hold, the claim is proved or
    replicated; if none holds, it is refuted or not replicated; otherwise, some parts fail, or it holds as far as run.

    Parameters
    ----------
    id : str
        The claim's number in the list of claims.
    paper : str
        The paper that makes it.
    place : str
        The place in the paper.
    statement : str
        The statement in our words.
    expected : mapping of str to number, list or mapping
        The value of each part that the paper prints or implies. It is compared with the computed value of the same
        name.
    check : callable
        A function that returns `Values`, or `Evidence` if the claim has several readings or the values come from a
        substitute. Names that are not in `expected` are only shown. If a name is missing, the part is undecided.
    proof : bool
        Whether the check is a proof (arithmetic, enumeration, a counter-example), and has no arguments; or a
        replication, which depends on data, and has the `Results` as its argument.
    how : str
        How the claim is checked, as a sentence.
    relation : {"=", "<=", "<"}
        The required relation of each computed value to the expected one.
    within : float or mapping of str to float
        The tolerance of the relation; by name if it differs, with 0 for names that are missing.
    needs : str
        What would be needed to run the parts that are not run.
    note : str
        An explanation of the status: the smallest example, misprints, our reading.
    errata : tuple of str
        The errata in the list of claims that concern this claim.
    """

    id: str
    paper: str
    place: str
    statement: str
    expected: Values
    check: Callable[..., Values | Evidence]
    proof: bool
    how: str = ""
    relation: str = "="
    within: float | Mapping[str, float] = 0.0
    needs: str = ""
    note: str = ""
    errata: tuple[str, ...] = ()

    def judge(self, results: Results) -> Verdict:
        """Compute and compare. Errors of the check, such as an unreadable table, are not caught."""
        computed = self.check() if self.proof else self.check(results)
        return self.verdict(computed if isinstance(computed, Evidence) else Evidence.as_printed(computed))

    def verdict(self, evidence: Evidence) -> Verdict:
        """Compare evidence with the expected values.

        A claim is judged by the paper's own reading if there is evidence for it, otherwise by the reading with the most
        parts that hold.
        """
        by_reading = {reading: self._parts(values) for reading, values in evidence.by_reading.items()}
        if AS_PRINTED in by_reading or not by_reading:
            reading = AS_PRINTED
        else:
            reading = max(by_reading, key=lambda name: sum(found is True for found in by_reading[name].values()))
        parts = by_reading.get(reading, dict.fromkeys(self.expected))
        if all(part is None for part in parts.values()):
            computed = self.expected.keys() & evidence.by_reading.get(reading, {}).keys()
            return Verdict(NOT_DECIDED if computed else NOT_RUN, evidence, reading, parts)
        return Verdict(self._status(list(parts.values()), bool(evidence.substitute)), evidence, reading, parts)

    def tolerance(self, name: str) -> float:
        """Return the tolerance of a part, given its name."""
        return self.within.get(name, 0.0) if isinstance(self.within, Mapping) else self.within

    def agreeing(self, evidence: Evidence) -> list[str]:
        """Return the readings under which all parts hold."""
        return [name for name, values in evidence.by_reading.items() if all(self._parts(values).values())]

    def _status(self, parts: Sequence[bool | None], on_a_substitute: bool) -> str:
        if len(set(parts)) > 1:
            return SOME_FAIL if False in parts else SO_FAR
        if self.proof:
            return PROVED if parts[0] else REFUTED
        if on_a_substitute:
            return SUBSTITUTE_REPLICATED if parts[0] else SUBSTITUTE_NOT_REPLICATED
        return REPLICATED if parts[0] else NOT_REPLICATED

    def _parts(self, values: Values) -> dict[str, bool | None]:
        return {name: self._compares(name, values[name]) if name in values else None for name in self.expected}

    def _compares(self, name: str, found: Any) -> bool | None:
        """Return whether a computed value has the required relation to the expected one; None for NaN or a text.

        A difference is decided only if every value in its interval has, or lacks, the relation.
        """
        if isinstance(found, str):
            return None
        if isinstance(found, Difference):
            ends = found.low, found.high
            if self.relation == "=":
                ends = found.nearest_and_farthest(self.expected[name])
            outcomes = {self._compares(name, value) for value in ends}
            return outcomes.pop() if len(outcomes) == 1 else None
        expected, computed = (np.array(list(leaves(value)), dtype=np.float64) for value in (self.expected[name], found))
        if expected.shape != computed.shape:
            return False
        if np.isnan(computed).any():
            return None
        within = self.tolerance(name)
        if self.relation == "=":
            return bool((np.abs(computed - expected) <= within).all())
        return bool(RELATIONS[self.relation](computed, expected + within).all())


def leaves(value: Any) -> Iterator[float]:
    """Yield the numbers in a value, in order."""
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(part)
    else:
        yield float(value)

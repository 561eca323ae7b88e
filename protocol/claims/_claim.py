"""What a claim is, and how its status follows from what was computed."""

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from protocol.claims._results import Results

REPRODUCED = "reproduced"
UNDER_CONVENTION = "reproduced under a stated convention"
CONTRADICTED = "contradicted"
NOT_RUN = "not run"
STATUSES = (REPRODUCED, UNDER_CONVENTION, CONTRADICTED, NOT_RUN)

AS_PRINTED = "as printed"
"""The reading that a paper itself states; others are conventions that it leaves open, or repairs of it."""

BETWEEN_READINGS = " | "
"""What stands between ours under one reading and under the next, in text."""

RELATIONS = MappingProxyType({"<=": operator.le, "<": operator.lt})
_NOTHING: Mapping[str, Any] = MappingProxyType({})

Values = Mapping[str, Any]
"""Numbers by name; a value may be a list, or a mapping of its own."""


@dataclass(frozen=True)
class Readings:
    """Ours under several readings of one claim, by the reading's name; `AS_PRINTED` is the paper's own."""

    by_name: Mapping[str, Values]


@dataclass(frozen=True)
class Verdict:
    """What a check found: the status, ours by reading, and what is missing."""

    status: str
    ours: Mapping[str, Values]
    needs: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the check that decides it.

    Parameters
    ----------
    id, paper, place, statement : str
        Its number in the list of claims, where it stands, and what it says, in our words.
    expected : mapping of str to number, list or mapping
        What the paper prints or implies. A value of ours answers the one of the same name.
    check : callable
        Takes the `Results` and returns ours: `Values`, or `Readings` where the claim can be read in several ways.
        Names that are not in `expected` are only shown. A name that is missing leaves the claim undecided. Its
        docstring says how the claim is checked.
    relation : {"=", "<=", "<"}
        How each of ours has to compare with what is expected.
    within : float or mapping of str to float
        How far ours may be off, in the sense of the relation; by name where it differs, 0 for those not named.
    needs : str
        What has to be there for the parts that are not decided here.
    note : str
        What is behind the status: the smallest example, misprints, our reading.
    errata : tuple of str
        The errata of the list that bear on the claim.
    """

    id: str
    paper: str
    place: str
    statement: str
    expected: Values
    check: Callable[[Results], Values | Readings]
    relation: str = "="
    within: float | Mapping[str, float] = 0.0
    needs: str = ""
    note: str = ""
    errata: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """How the claim is checked, in a sentence."""
        return " ".join((inspect.getdoc(self.check) or "").split())

    def judge(self, results: Results) -> Verdict:
        """Compute ours and compare; what the check raises goes through: a defect, or a table that can't be read."""
        found = self.check(results)
        ours = found.by_name if isinstance(found, Readings) else {AS_PRINTED: found} if found else {}
        agreeing = {name for name, values in ours.items() if self._agrees(values)}
        if not ours:
            return Verdict(NOT_RUN, ours, self.needs)
        if AS_PRINTED in ours:
            status = REPRODUCED if AS_PRINTED in agreeing else CONTRADICTED
        else:
            status = UNDER_CONVENTION if agreeing else CONTRADICTED
        undecided = all(set(self.expected) - set(values) for values in ours.values())
        if undecided and status != CONTRADICTED:
            return Verdict(NOT_RUN, ours, self.needs)
        return Verdict(status, ours)

    def tolerance(self, name: str) -> float:
        """Return how far ours may be off under a name."""
        return self.within.get(name, 0.0) if isinstance(self.within, Mapping) else self.within

    def agreeing(self, verdict: Verdict) -> list[str]:
        """Return the readings of a verdict under which the claim holds."""
        return [name for name, values in verdict.ours.items() if self._agrees(values)]

    def _agrees(self, values: Values) -> bool:
        return all(self._compares(name, values[name]) for name in self.expected if name in values)

    def _compares(self, name: str, found: Any) -> bool:
        wanted, ours = (np.array(list(leaves(value)), dtype=np.float64) for value in (self.expected[name], found))
        if wanted.shape != ours.shape:
            return False
        within = self.tolerance(name)
        if self.relation == "=":
            return bool((np.abs(ours - wanted) <= within).all())
        return bool(RELATIONS[self.relation](ours, wanted + within).all())


def leaves(value: Any) -> Iterator[float]:
    """Yield the numbers in a value, in order."""
    if isinstance(value, Mapping | list | tuple | np.ndarray):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(part)
    else:
        yield float(value)


@dataclass(frozen=True)
class Paper:
    """A paper's title, and its claims in the order of their entry."""

    title: str
    claims: list[Claim] = field(default_factory=list)

    def claim(
        self, number: str, *, place: str, statement: str, expected: Values = _NOTHING, data: bool = False, **more: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that enters a claim with its check, which takes the results if it needs `data`."""

        def enter(check: Callable[..., Any]) -> Callable[..., Any]:
            def without_data(results: Results) -> Any:
                return check()

            without_data.__doc__ = check.__doc__
            asked = check if data else without_data
            self.claims.append(Claim(number, self.title, place, statement, expected, asked, **more))
            return check

        return enter

    def not_run(
        self, number: str, *, place: str, statement: str, needs: str, expected: Values = _NOTHING, **more: Any
    ) -> None:
        """Enter a claim that nothing here can decide yet, with what that would need."""

        def check(results: Results) -> Values:
            return {}

        self.claims.append(Claim(number, self.title, place, statement, expected, check, needs=needs, **more))

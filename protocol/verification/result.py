"""The result of a verification: one line for each check."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from protocol.checks import counted
from protocol.evaluation.printed import Printed
from protocol.scores.tables import Table

if TYPE_CHECKING:
    from protocol.auditing import Audit

HOLDS, FAILS, UNCHECKED, NOTE = "holds", "fails", "not checked", "note"


class Check(NamedTuple):
    """One line of a verification: the outcome, such as "fails", its place in the record, and what was compared."""

    outcome: str
    place: str
    text: str
    n_values: int = 0
    """The number of values that were recomputed, and are the same."""

    def __str__(self) -> str:
        return f"{self.outcome:<{len(UNCHECKED)}}  {self.place}: {self.text}"


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Printed):
    """What holds of a record or of tables, and what does not.

    Parameters
    ----------
    file : str
        The record, or the folder of the tables.
    checks : tuple of Check
    """

    file: str
    checks: tuple[Check, ...]

    @property
    def n_values(self) -> int:
        """The number of values that were recomputed, and are the same."""
        return sum(check.n_values for check in self.checks)

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == FAILS]

    @property
    def holds(self) -> bool:
        """Whether at least one value was recomputed and no check failed."""
        return self.n_values > 0 and not self.failures

    @property
    def verdict(self) -> str:
        """The result in one line; it names the first failure."""
        if self.holds:
            n = sum(check.outcome == UNCHECKED for check in self.checks)
            lines = f"; {counted(n, 'line')} above not checked" if n else ""
            return f"{self.file}: verified: {counted(self.n_values, 'value')} recomputed{lines}."
        if not self.failures:
            return f"{self.file}: not verified: no value was recomputed."
        first, n_more = self.failures[0], len(self.failures) - 1
        more = f" ({n_more:,} more)" if n_more else ""
        return f"{self.file}: not verified: {first.place}: {first.text.rstrip('.')}{more}."

    def parts(self) -> list[str | Table]:
        """Return a line for each check, and the verdict."""
        return ["\n".join(map(str, self.checks)), self.verdict]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"file": self.file, "verified": self.holds, "n_values": self.n_values, "checks": self.checks}


def audit_checks(audited: "Audit") -> Iterator[Check]:
    """Yield a failed check for each error that an audit found, or else one that holds."""
    errors = [one for found in audited.findings.values() for one in found if one.severity == "error"]
    yield from (Check(FAILS, "audit", f"{one.name}: {one.count:,} ({', '.join(one.examples[:3])})") for one in errors)
    if not errors:
        yield Check(HOLDS, "audit", f"no error; the split protocol is {audited.runs[0].name}")

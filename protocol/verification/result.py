"""The result of a verification: its checks, each in a line, and the verdict."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from protocol.checks import counted
from protocol.evaluation.printed import Printed
from protocol.scores.tables import Table

HOLDS, FAILS, UNCHECKED, NOTE = "holds", "fails", "not checked", "note"


class Check(NamedTuple):
    """One line of a verification: the outcome, such as "fails", its subject, and what was compared."""

    outcome: str
    subject: str
    text: str
    n_values: int = 0
    """The number of values that were recomputed, and are the same."""

    def __str__(self) -> str:
        return f"{self.outcome:<{len(UNCHECKED)}}  {self.subject}: {self.text}"


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
        """The result in one line: the number of values that hold, and the first failure."""
        if self.holds:
            n = sum(check.outcome == UNCHECKED for check in self.checks)
            lines = f"; {counted(n, 'line')} below not checked" if n else ""
            return f"{self.file}: verified: {counted(self.n_values, 'value')} recomputed{lines}."
        problem = (f"{check.subject}: {check.text.rstrip('.')}" for check in self.failures)
        values = f"{counted(self.n_values, 'value')} as recorded; " if self.n_values else ""
        return f"{self.file}: {values}not verified: {next(problem, 'no value was recomputed')}."

    def parts(self) -> list[str | Table]:
        """Return the verdict, and a line for each check, failures first; single values that hold share a line."""
        of_values = [check for check in self.checks if check.outcome == HOLDS and check.n_values == 1]
        together = [Check(HOLDS, "values", ", ".join(check.subject for check in of_values))] if of_values else []
        lines = [*together, *(check for check in self.checks if check not in of_values)]
        lines.sort(key=lambda check: (FAILS, NOTE, UNCHECKED, HOLDS).index(check.outcome))
        return [self.verdict, "\n".join(map(str, lines))]

    def content(self) -> dict[str, Any]:
        """Return the fields of the JSON object."""
        return {"file": self.file, "verified": self.holds, "n_values": self.n_values, "checks": self.checks}

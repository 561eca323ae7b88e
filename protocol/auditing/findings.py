"""One finding: a kind, how bad it is here, and the items concerned."""

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.auditing.kinds import find

EXAMPLES = 5
"""Items named in a finding, at the most."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or that a reader must know.

    Parameters
    ----------
    name : str
        Of its kind, for example ``train-in-database``.
    severity : {"error", "warning"}
        An error makes numbers wrong or incomparable; a warning is inherent in the declared protocol or in the dataset,
        or a matter of convention.
    count : int
        Items (or queries, classes, partitions, runs) concerned.
    examples : tuple of str
        The first few of them, as the user calls them.
    consequence : str
        One sentence.
    """

    name: str
    severity: str
    count: int
    examples: tuple[str, ...]
    consequence: str

    @property
    def treatment(self) -> str:
        """How the papers treat it."""
        return find(self.name).treatment


def found(name: str, severity: str, count: int, examples: Sequence[str] = (), **words: str) -> list[Finding]:
    """Return a finding of the kind `name`, or nothing where `count` is 0; `words` fill in the kind's consequence."""
    if not count:
        return []
    consequence = find(name).consequence.format(**words)
    return [Finding(name, severity, count, tuple(map(str, examples[:EXAMPLES])), consequence)]

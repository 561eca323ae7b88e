"""A finding (its severity and the affected items), all kinds of findings, and findings as text, JSON and CSV.

The texts of the kinds are in ``findings.toml``.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.checks import counted, printable
from protocol.registry.records import read_toml
from protocol.scores import tables
from protocol.terminal import width

PACKAGE_DATA = "findings.toml"
_PLACE = re.compile(r"\{(\w+)\|([^}]*)\}")
EXAMPLES = 5
"""Maximum number of items that a text lists; JSON contains all of them."""
Findings = dict[str, list["Finding"]]
"""Findings by file."""
SEVERITIES = ("error", "undetermined", "warning", "information")
"""Severities, the worst first."""


@dataclass(frozen=True)
class Kind:
    """The texts of one kind of finding.

    Parameters
    ----------
    name : str
    summary : str
        Its meaning, in one line.
    template : str
        What follows for the results, in one sentence. A check replaces each ``{name|general words}``; without a split,
        the general words remain.
    treatment : str
        How papers treat it, with the source.
    fix : str
        How to fix it: one sentence in the imperative.
    """

    name: str
    summary: str
    template: str
    treatment: str
    fix: str

    @property
    def consequence(self) -> str:
        """What follows for the results of any split."""
        return _PLACE.sub(r"\2", self.template)

    @property
    def source(self) -> str:
        """The last column of `protocol list`."""
        return self.treatment


KIND_OF = {name: Kind(name, **of) for name, of in read_toml(Path(__file__).with_name(PACKAGE_DATA)).items()}
"""The kinds of findings by name, in the order of reports: leaks first."""


@dataclass(frozen=True)
class Finding:
    """A problem, or a fact that a reader must know.

    Parameters
    ----------
    name : str
        Name of its kind, for example ``train-in-database``.
    severity : {"error", "undetermined", "warning", "information"}
        An error makes numbers wrong or incomparable. If undetermined, the lists do not show whether there is an error.
        A warning is inherent in the declared protocol or in the dataset, or a matter of convention. Information
        describes the split if no protocol is declared.
    count : int
        Number of affected items (or queries, classes, partitions, runs).
    items : tuple of str
        Names of all affected items.
    consequence : str
        What follows from it, in one sentence.
    partners : tuple of str
        For findings on pairs, the other member of each pair, in the order of `items`; otherwise ().
    """

    name: str
    severity: str
    count: int
    items: tuple[str, ...]
    consequence: str
    partners: tuple[str, ...] = ()

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few items; for pairs, both members, as ``a ~ b``."""
        few = self.items[:EXAMPLES]
        return tuple(f"{a} ~ {b}" for a, b in zip(few, self.partners, strict=False)) if self.partners else few

    @property
    def treatment(self) -> str:
        """How papers treat it."""
        return KIND_OF[self.name].treatment

    @property
    def fix(self) -> str:
        """How to fix it, in one sentence."""
        return KIND_OF[self.name].fix


def findings_of(
    name: str, severity: str, count: int, items: Sequence[str] = (), partners: Sequence[str] = (), **words: str
) -> list[Finding]:
    """Return a finding of the kind `name`, none if `count` is 0; `words` has those for each place in its template."""
    if not count:
        return []
    consequence = _PLACE.sub(lambda match: words[match[1]], KIND_OF[name].template)
    return [Finding(name, severity, count, tuple(items), consequence, tuple(partners))]


# Texts

KEYS = ("file", "finding", "severity", "count", "items", "partners", "consequence", "fix", "treatment")
"""Keys of a JSON object, which lists all items."""
COLUMNS = ("file", "finding", "severity", "count", "examples", "consequence", "fix", "treatment")
"""Columns of the CSV file."""
Sentences = Mapping[str, Sequence[str]]
"""Sentences by file."""


def ordered(findings: Mapping[str, Sequence[Finding]]) -> Iterator[tuple[str, Finding]]:
    """Yield each file with each of its findings, ordered by severity and then by kind."""
    for file, in_file in findings.items():
        for finding in sorted(in_file, key=lambda one: (SEVERITIES.index(one.severity), [*KIND_OF].index(one.name))):
            yield file, finding


def records(findings: Mapping[str, Sequence[Finding]], keys: Sequence[str] = KEYS) -> list[dict[str, Any]]:
    """Return one record for each finding, with the file, the name of the finding, and attributes of `Finding`."""
    every = ordered(findings)
    return [{"file": file, "finding": one.name} | {key: getattr(one, key) for key in keys[2:]} for file, one in every]


def write_findings(path: str | Path, findings: Mapping[str, Sequence[Finding]]) -> None:
    """Write findings as CSV with a checksum, one row each with the columns `COLUMNS`; examples are joined by commas."""
    rows = [record | {"examples": ", ".join(record["examples"])} for record in records(findings, COLUMNS)]
    tables.write_csv(path, COLUMNS, [list(row.values()) for row in rows], checksum=True)


def errors_in(path: str | Path) -> list[str]:
    """Return a line for each kind of error in a file of `write_findings`, with the most items of one split or run."""
    rows = sorted(tables.read_text(path), key=lambda row: -int(row["count"]))
    errors = {row["finding"]: row for row in reversed(rows) if row["severity"] == "error"}
    return [f"{name}: {row['count']} in {row['file']}. {row['consequence']}" for name, row in errors.items()]


def text(findings: Mapping[str, Sequence[Finding]], about: Sentences, not_checked: Sentences, *, why: bool) -> str:
    """Return findings for a terminal: a heading for each file, a paragraph for each finding, and the totals.

    The last line is the number of checks that were not possible.

    Parameters
    ----------
    findings : mapping
        Findings by file.
    about : mapping
        Sentences below the findings, by file.
    not_checked : mapping
        The checks that were not possible, by file, with what each of them needs.
    why : bool
        Whether to list these checks.
    """
    lines = []
    for file, in_file in findings.items():
        lines.append(printable(file))
        if all(one.severity == "information" for one in in_file):
            n_missing = len(not_checked[file])
            not_made = f"{counted(n_missing, 'check')} {'was' if n_missing == 1 else 'were'} not made"
            lines.append(f"  no errors or warnings; {not_made}" if n_missing else "  clean")
        for _, one in ordered({file: in_file}):
            more = ", ..." if one.count > len(one.examples) > 0 else ""
            details = (", ".join(one.examples) + more, one.consequence, f"How to fix it: {one.fix}")
            lines.append(f"  {one.severity:<8} {one.name}: {one.count:,}")
            lines += [_paragraph(detail, 11) for detail in (*details, f"Papers: {one.treatment}") if detail]
        lines += [_paragraph(line, 2) for line in about[file]]
    return "\n".join([*lines, "", _totals(findings), *_needs(not_checked, why)])


def _totals(findings: Mapping[str, Sequence[Finding]]) -> str:
    severities = [one.severity for in_file in findings.values() for one in in_file]
    nouns = dict(zip(SEVERITIES, ("error", "undetermined finding", "warning", "informational finding"), strict=True))
    shown = [one for one in SEVERITIES if one in ("error", "warning", *severities)]
    return ", ".join(counted(severities.count(severity), nouns[severity]) for severity in shown)


def _needs(not_checked: Sentences, why: bool) -> list[str]:
    """Return the number of checks that need more data, and if asked each of them, with its files if not all need it."""
    checks = dict.fromkeys(check for of_file in not_checked.values() for check in of_file)
    first = f"{counted(len(checks), 'check')} need{'s' * (len(checks) == 1)} more data:"
    if why and checks:
        files = {check: [file for file, of_file in not_checked.items() if check in of_file] for check in checks}
        named = {check: f": {', '.join(of)}" * (len(of) < len(not_checked)) for check, of in files.items()}
        return [first, *(f"  {check}{of}" for check, of in named.items())]
    return [f"{first} --why lists them (in Python, `not_checked`)"] * bool(checks)


def _paragraph(words: str, indent: int) -> str:
    filled = textwrap.fill(printable(words), width() - indent, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(filled, " " * indent)

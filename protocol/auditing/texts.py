"""Write findings as text, Markdown, HTML, JSON and CSV."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from protocol.auditing.findings import KIND_OF, NOT_CHECKED, SEVERITIES, Finding
from protocol.checks import counted, printable
from protocol.scores import tables

COLUMNS = ("file", "finding", "severity", "count", "examples", "consequence", "fix", "treatment")
"""Columns of the CSV file."""
KEYS = ("file", "finding", "severity", "count", "items", "partners", "consequence", "fix", "treatment")
"""Keys of a JSON object, which lists all items."""
_HEADER = ("severity", "finding", "count", "examples", "consequence", "how to fix it", "in the papers")
_WIDTH = 100
_COLOURS = {"error": "\x1b[31m", "warning": "\x1b[33m", "information": "\x1b[36m", "clean": "\x1b[32m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_ORDER = {name: position for position, name in enumerate(KIND_OF)}
_Sentences = Mapping[str, Sequence[str]]


def ordered(findings: Mapping[str, Sequence[Finding]]) -> Iterator[tuple[str, Finding]]:
    """Yield each file with each of its findings, ordered by severity and then by kind."""
    for file, of_file in findings.items():
        for finding in sorted(of_file, key=lambda one: (SEVERITIES.index(one.severity), _ORDER[one.name])):
            yield file, finding


def records(findings: Mapping[str, Sequence[Finding]]) -> list[dict[str, Any]]:
    """Return one record for each finding, with the keys `KEYS`."""
    return [
        {"file": file, "finding": one.name} | {k: getattr(one, k) for k in KEYS[2:]} for file, one in ordered(findings)
    ]


def write_findings(path: str | Path, *findings: Mapping[str, Sequence[Finding]]) -> None:
    """Write findings as CSV with a checksum, one row each."""
    tables.write_csv(path, COLUMNS, [row for by_file in findings for row in rows_of(by_file)], checksum=True)


def rows_of(findings: Mapping[str, Sequence[Finding]]) -> list[tuple[Any, ...]]:
    """Return the cells of each finding, in the order of `COLUMNS`; examples are joined by commas."""
    return [
        (file, one.name, one.severity, one.count, ", ".join(one.examples), one.consequence, one.fix, one.treatment)
        for file, one in ordered(findings)
    ]


def text(
    findings: Mapping[str, Sequence[Finding]], about: _Sentences, *, colour: bool = False, why: bool = False
) -> str:
    """Return findings for a terminal: a heading for each file, a paragraph for each finding, and the totals.

    The last line is the number of checks that were not possible.

    Parameters
    ----------
    findings : mapping
        Findings by file.
    about : mapping
        Sentences below the findings, by file.
    colour : bool, default=False
        Whether to use terminal colours.
    why : bool, default=False
        Whether to list the checks that were not possible, with what each of them needs.
    """

    def painted(words: str, *codes: str) -> str:
        return "".join(codes) + words + _PLAIN if colour else words

    parts = []
    for file, of_file in findings.items():
        parts.append(painted(printable(file), _BOLD))
        if not _has_faults(of_file):
            n_missing = len(_missing(about.get(file, ())))
            made = (
                f"no errors or warnings; {counted(n_missing, 'check')} {'was' if n_missing == 1 else 'were'} not made"
            )
            parts.append(f"  {made if n_missing else painted('clean', _COLOURS['clean'])}")
        for _, one in ordered({file: of_file}):
            severity = painted(f"{one.severity:<8}", _COLOURS[one.severity], _BOLD)
            parts.append(f"  {severity} {painted(one.name, _BOLD)}: {one.count:,}")
            details = (_examples(one), one.consequence, f"How to fix it: {one.fix}", f"Papers: {one.treatment}")
            parts += [_paragraph(line, 11) for line in details if line]
        parts += [_paragraph(line, 2) for line in about.get(file, ()) if not line.startswith(NOT_CHECKED)]
    files: dict[str, list[str]] = {}
    for file, sentences in about.items():
        for check in _missing(sentences):
            files.setdefault(check, []).append(file)
    last = [f"{counted(len(files), 'check')} need{'s' * (len(files) == 1)} more data:"] if files else []
    if why:
        last += [f"  {one}{'' if len(of) == len(about) else ': ' + ', '.join(of)}" for one, of in files.items()]
    elif last:
        last[0] += " --why lists them (in Python, `about`)"
    return "\n".join([*parts, "", summary(findings), *last])


def markdown(findings: Mapping[str, Sequence[Finding]], about: _Sentences) -> str:
    """Return findings for a pull request: a table for each file, and the totals; parameters as for `text`."""
    parts = []
    for file, of_file in findings.items():
        parts.append(f"### `{printable(file)}`\n")
        if of_file:
            parts += [tables.markdown(_HEADER, _rows(of_file, "`{}`"), numbers=["count"]), ""]
        parts += [f"{printable(line)}\n" for line in _sentences(of_file, about.get(file, ()))]
    return "\n".join([*parts, summary(findings)])


def html(findings: Mapping[str, Sequence[Finding]], about: _Sentences) -> str:
    """Return findings for a notebook: a table for each file, and the totals; parameters as for `text`."""
    parts = []
    for file, of_file in findings.items():
        parts.append(f"<p><b>{escape(printable(file))}</b></p>")
        parts += [tables.Table("findings", "", _HEADER, _rows(of_file, "{}")).html()] if of_file else []
        parts += [f"<p>{escape(printable(line))}</p>" for line in _sentences(of_file, about.get(file, ()))]
    return "\n".join(["<div>", *parts, f"<p>{summary(findings)}</p>", "</div>"])


def _sentences(findings: Sequence[Finding], about: Sequence[str]) -> list[str]:
    """Return the sentences about a split; the last one lists the checks that were not possible."""
    if _has_faults(findings):
        return list(about)
    missing = "; ".join(_missing(about))
    last = f"no errors or warnings; not checked: {missing}" if missing else "clean"
    return [*(line for line in about if not line.startswith(NOT_CHECKED)), last]


def _missing(about: Sequence[str]) -> list[str]:
    """Return the checks that were not possible, from the sentences about a split."""
    return [
        check for line in about if line.startswith(NOT_CHECKED) for check in line.removeprefix(NOT_CHECKED).split("; ")
    ]


def _has_faults(findings: Sequence[Finding]) -> bool:
    return any(one.severity != "information" for one in findings)


def _rows(findings: Sequence[Finding], name: str) -> list[tuple[str, ...]]:
    """Return the row of each finding, with the columns `_HEADER`; `name` is the format of its name."""
    return [
        (one.severity, name.format(one.name), f"{one.count:,}", _examples(one), one.consequence, one.fix, one.treatment)
        for _, one in ordered({"": findings})
    ]


def summary(findings: Mapping[str, Sequence[Finding]]) -> str:
    """Return the number of findings of each severity, in one line.

    Examples
    --------
    >>> summary({"split.h5": []})
    '0 errors, 0 warnings'
    """
    severities = [one.severity for _, one in ordered(findings)]
    totals = [counted(severities.count(severity), severity) for severity in ("error", "warning")]
    n_informing = severities.count("information")
    return ", ".join([*totals, counted(n_informing, "informational finding")] if n_informing else totals)


def _examples(finding: Finding) -> str:
    """Return the examples in one line, followed by an ellipsis if there are more."""
    more = ", ..." if finding.count > len(finding.examples) > 0 else ""
    return ", ".join(map(printable, finding.examples)) + more


def _paragraph(words: str, indent: int) -> str:
    filled = textwrap.fill(printable(words), _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(filled, " " * indent)

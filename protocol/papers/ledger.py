"""The ledger: all claims with their status, as records, text and JSON."""

import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import compress, groupby
from pathlib import Path
from typing import Any

from protocol.checks import counted, one_of
from protocol.papers.claims import STATUSES, Claim, Verdict, all_claims, read
from protocol.papers.comparisons import AS_PRINTED, Difference, Results
from protocol.provenance.storage import write_text
from protocol.scores.tables import read_text
from protocol.shipped import PROJECT
from protocol.terminal import width

FIELDS = ("id", "paper", "place", "claim", "expected", "ours", "status", "parts", "reproduce", "note")
_SHORT = {status: status.replace(" on a substitute", ", substitute") for status in STATUSES}


def ledger(results: str | Path | Results | None = None, only: Collection[str] = ()) -> list[dict[str, str]]:
    """Return all claims with the results of their checks.

    Parameters
    ----------
    results : str, Path or Results, optional
        Rows of tables; or a folder of results, from which the ``summary.csv`` of each experiment and the stored
        reference results in ``reference/`` are read. The default is ``results``; if that folder does not exist, there
        are no data.
    only : collection of str
        The ids of the claims to judge; all if empty.

    Returns
    -------
    list of dict
        One for each claim, with the keys `FIELDS` and text values. ``parts`` describes how many of the claim's parts
        hold. A note has separate lines for the method of the check, the readings and parts that hold or do not hold,
        missing parts, the explanation of the status, and the errata.

    Raises
    ------
    ProtocolError
        If the folder does not exist, a table in it can't be read, or an id is unknown.
    """
    if not isinstance(results, Results):
        results = Results.in_folder(results)
    claims = {claim.id: claim for claim in all_claims()}
    for name in only:
        one_of(name, [*claims], "claim", listing="protocol papers")
    return [_entry(claim, claim.judge(results)) for claim in claims.values() if not only or claim.id in only]


def matching(entries: Sequence[dict[str, str]], words: Sequence[str]) -> list[dict[str, str]]:
    """Return the entries that contain all texts, or else all words of these, in any spelling of metrics and datasets.

    A number is not found within another one: 32 is not in .1732.

    Examples
    --------
    >>> from protocol.papers import all_tables
    >>> [table["printed"] for table in matching(all_tables(), ["mAP@5k", "NUSWIDE", "talr"])]
    ['AP@5K']
    """
    spellings = read("tables")["spellings"]

    def one_spelling(text: str) -> str:
        for pattern, spelling in spellings.items():
            text = re.sub(pattern, spelling, text)
        return text

    texts = [one_spelling(" ".join(entry.values()).casefold()) for entry in entries]
    for parts in (words, " ".join(words).split()):
        spelt = [one_spelling(part.casefold()) for part in parts]
        required = [re.compile(r"(?<![\d.])" * part[:1].isdigit() + re.escape(part)) for part in spelt]
        has_all = [all(part.search(text) for part in required) for text in texts]
        if any(has_all):
            break
    return [*compress(entries, has_all)]


def scores_of_methods() -> list[dict[str, str]]:
    """Return the mAP of methods on CIFAR-10 with GIST features: of our leaderboard, if it is stored, and published."""
    return [
        {name: row[name] for name in ("dataset", "feature", "split", "hasher", "metric")}
        | {"bits": f"{row['n_bits']} bits", "value": f"{float(row.get('mean') or row['value']):.4f}"}
        | {"source": source or row["source"]}
        for source, file in read("tables")["scores"].items()
        if (PROJECT / file).is_file()
        for row in read_text(PROJECT / file)
        if row["metric"] == "mAP"
    ]


def write_ledger(path: str | Path, entries: list[dict[str, str]], *, checksum: bool = False) -> None:
    """Write entries of a ledger, or tables, as a JSON list of objects; for `checksum` see `storage.replacing`."""
    write_text(path, json.dumps(entries, indent=2, ensure_ascii=False) + "\n", checksum=checksum)


def _entry(claim: Claim, verdict: Verdict) -> dict[str, str]:
    relation, expected, ours = "" if claim.relation == "=" else f"{claim.relation} ", list[str](), list[str]()
    for name, value in claim.expected.items():
        tolerance = claim.tolerance(name)
        expected.append(f"{name}: {relation}{in_words(value)}" + (f" (± {tolerance:g})" if tolerance else ""))
    for reading, values in verdict.by_reading.items():
        is_named = reading != AS_PRINTED or len(verdict.by_reading) > 1
        words = "; ".join(f"{name}: {in_words(value)}" for name, value in values.items())
        ours.append(f"{reading}: {words}" if is_named else words)
    described = (claim.id, claim.paper, claim.place, claim.statement, "; ".join(expected), " | ".join(ours))
    judged = (verdict.status, verdict.summary)
    return dict(zip(FIELDS, (*described, *judged, claim.reproduction, _note(claim, verdict)), strict=True))


def _note(claim: Claim, verdict: Verdict) -> str:
    """Return paragraphs about the method, the parts and readings, missing parts, the explanation and the errata."""
    mixed = len(set(verdict.parts.values())) > 1
    parts = {
        "How: ": claim.how,
        "Holds with: ": _sentence(claim.agreeing(verdict.by_reading)) if len(verdict.by_reading) > 1 else "",
        "Does not hold: ": _sentence(verdict.named(False)) if mixed else "",
        "Not decided: ": _sentence(verdict.not_decided) if mixed else "",
        "Not run: ": _sentence(verdict.not_run) if mixed else "",
        "Needs: ": f"{claim.needs}." if verdict.not_run and claim.commands else "",
        "": claim.note,
        "Errata: ": _sentence(claim.errata, ", "),
    }
    return "\n".join(start + text for start, text in parts.items() if text)


def _sentence(names: Sequence[str], between: str = "; ") -> str:
    return f"{between.join(names)}." if names else ""


def in_words(value: Any) -> str:
    """Return a value as text: integers in full, other numbers with six digits."""
    if isinstance(value, list | tuple):
        return " ".join(map(in_words, value))
    if isinstance(value, str | Difference):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "undefined"
    return f"{number:.0f}" if number.is_integer() else f"{number:.6g}"


def ledger_text(entries: Sequence[dict[str, str]]) -> str:
    """Return a ledger as text, paper by paper."""
    parts, statuses = [], max(map(len, _SHORT.values()))
    for paper, group in groupby(entries, key=lambda entry: entry["paper"]):
        of_paper = list(group)
        ids = max(len(entry["id"]) for entry in of_paper)
        starts = [f"  {entry['id']:<{ids}}  {_SHORT[entry['status']]:<{statuses}}  " for entry in of_paper]
        lines = [_wrapped(entry["claim"], start) for start, entry in zip(starts, of_paper, strict=True)]
        parts.append("\n".join([_wrapped(paper), *lines]))
    totals = Counter(entry["status"] for entry in entries)
    by_status = ", ".join(f"{totals[status]} {status}" for status in STATUSES if totals[status])
    last = f"{counted(len(entries), 'claim')}: {by_status}. `protocol papers ID` prints how to reproduce one."
    return "\n\n".join([*parts, _wrapped(last)])


def _wrapped(text: str, start: str = "") -> str:
    """Return a paragraph after `start`, with lines of the terminal's width below each other."""
    indent = " " * len(start)
    return textwrap.fill(text, width(), initial_indent=start, subsequent_indent=indent, break_on_hyphens=not start)


def entry_text(entry: dict[str, str]) -> str:
    """Return one claim or printed table in full, with the first two values as its title."""
    (number, paper), margin = [*entry.values()][:2], max(map(len, entry)) + 4
    parts = [_wrapped(f"{number}  {paper}")]
    for name in [*entry][2:]:
        first, *others = (entry[name] or "none").split("\n")
        parts.append(_wrapped(first, f"  {name}".ljust(margin)))
        parts += [_wrapped(paragraph, " " * margin) for paragraph in others]
    return "\n".join(parts)

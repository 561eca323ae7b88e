"""The ledger: every claim with what it was found to be."""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import one_of
from protocol.claims import evaluation_metrics, mlgap, ramap, talr_experiments, thesis
from protocol.claims._claim import AS_PRINTED, BETWEEN_READINGS, Claim, Verdict
from protocol.claims._results import Results
from protocol.storage import replacing

FIELDS = ("id", "paper", "place", "claim", "expected", "ours", "status", "parts", "note")
_PAPERS = (mlgap.PAPER, evaluation_metrics.PAPER, ramap.PAPER, talr_experiments.PAPER, thesis.PAPER)


def all_claims() -> list[Claim]:
    """Return every claim, paper after paper."""
    return [claim for paper in _PAPERS for claim in paper.claims]


_DEFAULT = Path("results")


def ledger(
    results: str | Path | None = None, only: Collection[str] = (), *, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, str]]:
    """Return every claim with what its check finds.

    Parameters
    ----------
    results : str or Path, optional
        A folder of results, from which each experiment's ``summary.csv`` and the stored reference results in
        ``reference/`` are read. By default ``results``; if there is no such folder, no data.
    only : collection of str
        The ids of some claims; all if empty.
    progress : callable, optional
        Called with the number of claims done and that of all.

    Returns
    -------
    list of dict
        One for each claim, its keys `FIELDS`, all of them text. ``parts`` says how many of the claim's parts hold. A
        note has a line each for how the claim is checked, what it holds with, what does not hold or is missing, what
        explains the status, and the errata.

    Raises
    ------
    ProtocolError
        If the folder is not there, a table in it can't be read, or an id is unknown.
    """
    if results is None and not _DEFAULT.is_dir():
        return judge(Results(()), only, progress=progress)
    return judge(Results.in_folder(results or _DEFAULT), only, progress=progress)


def judge(
    results: Results, only: Collection[str] = (), *, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, str]]:
    """Return the ledger, as `ledger`, on the rows of given tables."""
    names = [claim.id for claim in all_claims()]
    for name in only:
        one_of(name, names, "claim", listing="protocol claims")
    entries = []
    chosen = [claim for claim in all_claims() if not only or claim.id in only]
    for done, claim in enumerate(chosen, start=1):
        entries.append(_entry(claim, claim.judge(results)))
        if progress is not None:
            progress(done, len(chosen))
    return entries


def printed() -> dict[str, Mapping[str, Any]]:
    """Return the numbers that the papers print: by the id of a claim, the values that it expects by name."""
    return {claim.id: claim.expected for claim in all_claims()}


def write_json(path: str | Path, entries: list[dict[str, str]], *, checksum: bool = False) -> None:
    """Write a ledger as JSON: a list of objects with the keys `FIELDS`. `checksum` as in `storage.replacing`."""
    with replacing(path, checksum=checksum) as temporary:
        temporary.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _entry(claim: Claim, verdict: Verdict) -> dict[str, str]:
    return {
        "id": claim.id,
        "paper": claim.paper,
        "place": claim.place,
        "claim": claim.statement,
        "expected": _expected(claim),
        "ours": _ours(verdict.evidence.by_reading),
        "status": verdict.status,
        "parts": verdict.summary,
        "note": _note(claim, verdict),
    }


def _expected(claim: Claim) -> str:
    relation = "" if claim.relation == "=" else f"{claim.relation} "
    parts = []
    for name, value in claim.expected.items():
        within = claim.tolerance(name)
        parts.append(f"{name}: {relation}{shown(value)}" + (f" (± {within:g})" if within else ""))
    return "; ".join(parts)


def _ours(by_reading: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for reading, values in by_reading.items():
        text = "; ".join(f"{name}: {shown(value)}" for name, value in values.items())
        parts.append(text if reading == AS_PRINTED and len(by_reading) == 1 else f"{reading}: {text}")
    return BETWEEN_READINGS.join(parts)


def _note(claim: Claim, verdict: Verdict) -> str:
    """Return a paragraph each: the method, the parts and readings, what is missing, what explains it, the errata."""
    several = len(verdict.evidence.by_reading) > 1
    mixed = len(set(verdict.parts.values())) > 1
    parts = {
        "How: ": claim.method,
        "Holds with: ": _sentence(claim.agreeing(verdict.evidence)) if several else "",
        "Does not hold: ": _sentence(verdict.named(False)) if mixed else "",
        "Not run: ": _sentence(verdict.named(None)) if mixed else "",
        "Needs: ": f"{claim.needs}." if verdict.named(None) else "",
        "": claim.note,
        "Errata: ": _sentence(claim.errata, ", "),
    }
    return "\n".join(start + text for start, text in parts.items() if text)


def _sentence(names: Sequence[str], between: str = "; ") -> str:
    return f"{between.join(names)}." if names else ""


def shown(value: Any) -> str:
    """Return a value as text: whole numbers in full, others with six digits, what belongs to a name in brackets."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} ({shown(part)})" for name, part in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(shown, value))
    if isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return "undefined"
    return f"{number:.0f}" if number.is_integer() else f"{number:.6g}"

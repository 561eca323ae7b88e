"""The ledger: all claims with their status."""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import one_of
from protocol.papers import evaluation_metrics, mlgap, ramap, talr_experiments, thesis
from protocol.papers._claim import AS_PRINTED, BETWEEN_READINGS, Claim, Difference, Verdict
from protocol.papers._results import Results
from protocol.provenance.storage import replacing

FIELDS = ("id", "paper", "place", "claim", "expected", "ours", "status", "parts", "note")
_PAPERS = (mlgap.PAPER, evaluation_metrics.PAPER, ramap.PAPER, talr_experiments.PAPER, thesis.PAPER)


def all_claims() -> list[Claim]:
    """Return all claims, paper by paper."""
    return [claim for paper in _PAPERS for claim in paper.claims]


_DEFAULT = Path("results")


def ledger(
    results: str | Path | None = None, only: Collection[str] = (), *, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, str]]:
    """Return all claims with the results of their checks.

    Parameters
    ----------
    results : str or Path, optional
        A folder of results, from which the ``summary.csv`` of each experiment and the stored reference results in
        ``reference/`` are read. The default is ``results``; if that folder does not exist, there are no data.
    only : collection of str
        The ids of the claims to judge; all if empty.
    progress : callable, optional
        Called with the number of judged claims and the number of all claims.

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
    if results is None and not _DEFAULT.is_dir():
        return judge(Results(()), only, progress=progress)
    return judge(Results.in_folder(results or _DEFAULT), only, progress=progress)


def judge(
    results: Results, only: Collection[str] = (), *, progress: Callable[[int, int], None] | None = None
) -> list[dict[str, str]]:
    """Return the ledger as in `ledger`, from the rows of given tables."""
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
    """Return the numbers that the papers print: for the id of each claim, its expected values by name."""
    return {claim.id: claim.expected for claim in all_claims()}


def write_json(path: str | Path, entries: list[dict[str, str]], *, checksum: bool = False) -> None:
    """Write a ledger as JSON, a list of objects with the keys `FIELDS`; for `checksum` see `storage.replacing`."""
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
    """Return paragraphs about the method, the parts and readings, missing parts, the explanation and the errata."""
    several = len(verdict.evidence.by_reading) > 1
    mixed = len(set(verdict.parts.values())) > 1
    parts = {
        "How: ": claim.method,
        "Holds with: ": _sentence(claim.agreeing(verdict.evidence)) if several else "",
        "Does not hold: ": _sentence(verdict.named(False)) if mixed else "",
        "Not decided: ": _sentence(verdict.not_decided) if mixed else "",
        "Not run: ": _sentence(verdict.not_run) if mixed else "",
        "Needs: ": f"{claim.needs}." if verdict.not_run and claim.needs else "",
        "": claim.note,
        "Errata: ": _sentence(claim.errata, ", "),
    }
    return "\n".join(start + text for start, text in parts.items() if text)


def _sentence(names: Sequence[str], between: str = "; ") -> str:
    return f"{between.join(names)}." if names else ""


def shown(value: Any) -> str:
    """Return a value as text: integers in full, other numbers with six digits, lists and mappings in brackets."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} ({shown(part)})" for name, part in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(shown, value))
    if isinstance(value, str | Difference):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "undefined"
    return f"{number:.0f}" if number.is_integer() else f"{number:.6g}"

"""What the papers claim, and what became of it here."""

from collections import Counter

from protocol.report.figure import ABSENT, Section, Table
from protocol.report.results import Results


def section(results: Results) -> Section | None:
    """Return the ledger of claims; None where none was checked."""
    if not results.claims:
        return None
    totals = ", ".join(
        f"{n} {status}" for status, n in Counter(claim["status"] for claim in results.claims).most_common()
    )
    columns = ["status", "paper", "place", "claim", "expected", "ours", "note"]
    rows = [[_text(claim[name]) for name in columns] for claim in results.claims]
    table = Table(
        "claims", "The papers' claims, with what they expect and what came out here.", columns, rows, n_labels=7
    )
    return Section("claims", "Claims of the papers", [f"{len(rows)} claims: {totals}."], tables=[table])


def _text(value: object) -> str:
    return ABSENT if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

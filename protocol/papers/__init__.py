"""The papers: their statements, checked by computation; and their figures and tables, drawn from our results."""

from protocol.papers.claim import STATUSES, Claim, Evidence, Verdict
from protocol.papers.ledger import (
    FIELDS,
    all_claims,
    entry_text,
    judge,
    ledger,
    ledger_markdown,
    ledger_text,
    printed,
    write_ledger,
)
from protocol.papers.results import Results

__all__ = [
    "FIELDS",
    "STATUSES",
    "Claim",
    "Evidence",
    "Results",
    "Verdict",
    "all_claims",
    "entry_text",
    "judge",
    "ledger",
    "ledger_markdown",
    "ledger_text",
    "printed",
    "write_ledger",
]

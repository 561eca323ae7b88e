"""The ledger of claims: statements of the papers, checked by computation."""

from protocol.papers._claim import STATUSES, Claim, Evidence, Verdict
from protocol.papers._results import Results
from protocol.papers.entries import FIELDS, all_claims, judge, ledger, printed, write_json
from protocol.papers.render import full, markdown, table

__all__ = [
    "FIELDS",
    "STATUSES",
    "Claim",
    "Evidence",
    "Results",
    "Verdict",
    "all_claims",
    "full",
    "judge",
    "ledger",
    "markdown",
    "printed",
    "table",
    "write_json",
]

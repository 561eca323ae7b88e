"""The ledger of claims: statements of the papers, checked by computation."""

from protocol.claims._claim import STATUSES, Claim, Evidence, Verdict
from protocol.claims._results import Results
from protocol.claims.entries import FIELDS, all_claims, judge, ledger, printed, write_json
from protocol.claims.render import full, markdown, table

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

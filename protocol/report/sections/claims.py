"""The claims of the papers and their outcomes, in a reproduction."""

from collections.abc import Mapping
from typing import Any

from protocol.report.figure import Section
from protocol.report.results import Results

_OPEN = ("refuted", "not replicated")


def section(results: Results) -> Section | None:
    """Return the claims by status, with those that do not hold first and unfolded; None if none was checked."""
    if not results.claims:
        return None
    by_status: dict[str, list[Mapping[str, Any]]] = {status: [] for status in _OPEN}
    for claim in results.claims:
        by_status.setdefault(claim["status"], []).append(claim)
    totals = ", ".join(f"{len(claims)} {status}" for status, claims in by_status.items() if claims)
    text = (
        f"{len(results.claims)} claims: {totals}. They were checked against this experiment's scores where these "
        "suffice, and otherwise against the stored reference results."
    )
    return Section(
        "claims",
        "Claims of the papers",
        [text],
        template="claims.html.j2",
        context={
            "by_status": {status: claims for status, claims in by_status.items() if claims},
            "open": _OPEN,
        },
        folded=True,
    )

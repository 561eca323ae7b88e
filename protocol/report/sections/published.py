"""The papers, in a reproduction: their scores next to ours, and the outcomes of their claims."""

from collections.abc import Mapping
from typing import Any

from protocol.checks import counted
from protocol.report.figure import Section, spread
from protocol.report.results import Results
from protocol.scores.tables import Table

_ON = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]
_OPEN = ("refuted", "not replicated")


def published_section(results: Results) -> Section | None:
    """Return the published scores whose combination was run, with the differences; None if there are none."""
    if results.published is None:
        return None
    both = results.published.merge(results.plain, on=_ON)
    if both.empty:
        return None
    difference = both["mean"] - both["value"]
    rows = [
        [
            row.hasher,
            row.metric,
            str(row.n_bits),
            row.source,
            row.protocol,
            spread(row.mean, row.std),
            f"{row.value:.4f}",
            f"{row.mean - row.value:+.4f}",
        ]
        for row in both.itertuples()
    ]
    farthest = both.loc[difference.abs().idxmax()]
    text = (
        f"Of {counted(len(both), 'published score')}, {int((difference.abs() < 0.01).sum())} are within 0.01 of ours; "
        f"the largest difference is {difference[farthest.name]:+.4f} ({farthest['hasher']}, {farthest['n_bits']} "
        "bits). The table describes the protocols of the sources; our scores are means over the runs."
    )
    header = ["hasher", "metric", "bits", "source", "its protocol", "ours", "published", "difference"]
    table = Table("published", "Our scores and published ones.", header, rows, n_labels=5, folded=True)
    return Section("published", "Published scores", [text], tables=[table])


def claims_section(results: Results) -> Section | None:
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

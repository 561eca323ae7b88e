"""Published scores next to ours for the same combinations, in a reproduction."""

from protocol.checks import counted
from protocol.report.figure import Section, Table, spread
from protocol.report.results import Results

_ON = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]


def section(results: Results) -> Section | None:
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

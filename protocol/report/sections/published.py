"""Our figures beside published ones of the same cell."""

from protocol.checks import counted
from protocol.report.figure import Section, Table, spread
from protocol.report.results import Results

_ON = ["dataset", "feature", "ground_truth", "split", "hasher", "metric", "n_bits"]


def section(results: Results) -> Section:
    """Return the published figures whose cell was run, and the difference."""
    title = "Beside published figures"
    both = results.published.merge(results.plain, on=_ON)
    if both.empty:
        return Section("published", title, ["No published figure is on file for a cell of this setting."])
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
    says = (
        f"Of {counted(len(both), 'published figure')}, {int((difference.abs() < 0.01).sum())} are within 0.01 of ours; "
        f"farthest off is {farthest['hasher']} with {farthest['n_bits']} bits, by {difference[farthest.name]:+.4f}. "
        "Their protocols differ from ours as the table says, and ours are means over runs."
    )
    header = ["hasher", "metric", "bits", "source", "its protocol", "ours", "published", "difference"]
    return Section(
        "published",
        title,
        [says],
        tables=[Table("published", "Ours beside published figures.", header, rows, n_labels=5)],
    )

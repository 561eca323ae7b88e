"""The answer first: what was run, and the table of the metric that stands for all."""

from collections import Counter
from typing import Any

from protocol import registry
from protocol.checks import counted
from protocol.report.figure import ABSENT, Section, Table, between, listed, spread
from protocol.report.results import PLACE, Results


def section(results: Results) -> Section:
    """Return what was run in words, the conventions of the numbers, and a table of each ground truth and split."""
    rows = results.at(results.plain, metric=results.metric)
    tables = [
        _table(results, truth, split, own)
        for (truth, split), own in rows.groupby(["ground_truth", "split"], sort=False)
    ]
    record = registry.entry("metric", results.metric)
    empty = "counts 0" if results.setting["empty"] == "zero" else "leaves its query out"
    says = (
        f"Conventions of {results.metric}: ties: {record.ties.rstrip('.').lower()}; denominator: "
        f"{record.denominator}; an undefined value {empty}."
    )
    return Section("headline", "The answer", [_what(results), _best(results), says], tables=tables)


def _best(results: Results) -> str:
    """Return how often each hasher is the best."""
    rows = results.at(results.plain, metric=results.metric).dropna(subset="mean").reset_index(drop=True)
    cells = rows.groupby([*PLACE, "n_bits"], sort=False)["mean"]
    winners = Counter(rows.loc[cells.idxmin() if _lower(results) else cells.idxmax(), "hasher"])
    wins = listed([f"{hasher} in {n}" for hasher, n in winners.most_common()])
    return (
        f"Of {counted(winners.total(), 'comparison')} of hashers (one for each feature, ground truth, split and code "
        f"length), the best {results.metric} is that of {wins}."
    )


def _lower(results: Results) -> bool:
    return registry.entry("metric", results.metric).better == "lower"


def _what(results: Results) -> str:
    plain = results.plain
    names = {column: list(dict.fromkeys(plain[column])) for column in ("feature", "ground_truth", "split", "hasher")}
    classes = f", {len(results.class_names)} classes" if results.class_names else ", without class labels"
    n_queries = between([len(results.splits[split]["query"]) for split in names["split"]])
    return (
        f"{counted(len(names['hasher']), 'hasher')} ({listed(names['hasher'])}) with codes of "
        f"{between(plain['n_bits'])} bits on {results.setting['dataset']}: {counted(len(results.items['ids']), 'item')}"
        f"{classes}, described by {_features(plain)}. Relevance by {listed(names['ground_truth'])}; "
        f"{listed(names['split'])} split{'s' if len(names['split']) > 1 else ''}, {n_queries} queries; "
        f"{_over(plain['n_runs'])}. Seed {results.setting['seed']}.{_finished(results)}"
    )


def _finished(results: Results) -> str:
    """Return a sentence about the methods with finished codes."""
    names = list(results.setting.get("codes", {}))
    if not names:
        return ""
    return (
        f" The codes of {listed(names)} were made outside this pipeline, and the audit can't check how they were "
        "learned."
    )


def _features(plain: Any) -> str:
    """Return the features, each with its own number of hashers and runs where it is not that of all."""
    groups = plain.groupby("feature", sort=False)
    return listed([name if _size(rows) == _size(plain) else f"{name} ({_size(rows)})" for name, rows in groups])


def _size(rows: Any) -> str:
    return f"{counted(rows['hasher'].nunique(), 'hasher')}, runs: {between(rows['n_runs'])}"


def _over(n_runs: Any) -> str:
    return f"mean ± sample standard deviation over {between(n_runs)} runs" if max(n_runs) > 1 else "one run"


def _table(results: Results, truth: str, split: str, rows: Any) -> Table:
    lengths, features = sorted(rows["n_bits"].unique()), list(dict.fromkeys(rows["feature"]))
    best = rows.groupby(["feature", "n_bits"])["mean"].transform("min" if _lower(results) else "max")
    cells, strong, n_labels = [], set(), 1 + (len(features) > 1)
    for down, (names, own) in enumerate(rows.assign(best=best).groupby(["feature", "hasher"], sort=False)):
        of_length = {row.n_bits: row for row in own.itertuples()}
        found = [spread(of_length[n].mean, of_length[n].std) if n in of_length else ABSENT for n in lengths]
        cells.append([*names[-n_labels:], *found])
        strong |= {(down, n_labels + lengths.index(n)) for n, row in of_length.items() if row.mean == row.best}
    place, column = (truth, "feature and length") if n_labels > 1 else (f"{features[0]}, {truth}", "length")
    caption = f"{results.metric}: {place}, {split} split; {_over(rows['n_runs'])}, the best of each {column} bold."
    name = f"headline-{truth}-{split}".replace("_", "-")
    header = [*("feature", "hasher")[-n_labels:], *(f"{n} bits" for n in lengths)]
    return Table(name, caption, header, cells, n_labels=n_labels, strong=frozenset(strong))

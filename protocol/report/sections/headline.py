"""The answer first: what was run, and the table of the metric that stands for all."""

from collections import Counter
from typing import Any

from protocol import registry
from protocol.report.figure import ABSENT, Section, Table, between, counted, listed, spread
from protocol.report.results import PLACE, Results


def section(results: Results) -> Section:
    """Return what was run in words, the conventions of the numbers, and the headline table of each ground truth."""
    feature = results.place["feature"]
    rows = results.at(results.plain, feature=feature, metric=results.metric)
    tables = [
        _table(results, truth, split, own)
        for (truth, split), own in rows.groupby(["ground_truth", "split"], sort=False)
    ]
    facts = registry.entry("metric", results.metric).facts
    empty = "counts 0" if results.setting["empty"] == "zero" else "leaves its query out"
    says = (
        f"Conventions of {results.metric}: ties: {facts['ties'].rstrip('.').lower()}; denominator: "
        f"{facts['denominator']}; an undefined value {empty}."
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
    return bool(registry.entry("metric", results.metric).facts["better"] == "lower")


def _what(results: Results) -> str:
    plain = results.plain
    names = {column: list(dict.fromkeys(plain[column])) for column in ("feature", "ground_truth", "split", "hasher")}
    classes = f", {len(results.class_names)} classes" if results.class_names else ", without class labels"
    sizes = results.splits[results.place["split"]]
    return (
        f"{counted(len(names['hasher']), 'hasher')} ({listed(names['hasher'])}) with codes of "
        f"{between(plain['n_bits'])} bits on {results.setting['dataset']}: {counted(len(results.items['ids']), 'item')}"
        f"{classes}, described by {_features(plain)}. Relevance by {listed(names['ground_truth'])}; "
        f"{listed(names['split'])} split{'s' if len(names['split']) > 1 else ''}, {len(sizes['query']):,} queries; "
        f"{_over(plain['n_runs'])}. Seed {results.setting['seed']}."
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
    lengths = sorted(rows["n_bits"].unique())
    lower = _lower(results)
    cells, strong = [], set()
    for down, (hasher, own) in enumerate(rows.groupby("hasher", sort=False)):
        by_length = own.set_index("n_bits")
        cells.append(
            [
                hasher,
                *(
                    spread(by_length.loc[n, "mean"], by_length.loc[n, "std"]) if n in by_length.index else ABSENT
                    for n in lengths
                ),
            ]
        )
        for across, n_bits in enumerate(lengths, 1):
            column = rows[rows["n_bits"] == n_bits]["mean"]
            best = column.min() if lower else column.max()
            if n_bits in by_length.index and by_length.loc[n_bits, "mean"] == best:
                strong.add((down, across))
    caption = (
        f"{results.metric}: {results.place['feature']}, {truth}, {split} split; "
        f"{_over(rows['n_runs'])}, the best of a length bold."
    )
    name = f"headline-{truth}-{split}".replace("_", "-")
    return Table(name, caption, ["hasher", *(f"{n} bits" for n in lengths)], cells, strong=frozenset(strong))

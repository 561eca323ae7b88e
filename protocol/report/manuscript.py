"""Figures and tables for the user's own manuscript, as the key `paper` of the configuration chooses them.

The charts are those of the report. `protocol.papers` redraws the figures of published papers instead.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.report.drawing import file_name
from protocol.report.examples import middle
from protocol.report.figure import ABSENT, COLUMN_WIDTH, PAGE, Figure, between, cells, series_scales
from protocol.report.results import display_name, read_examples, trained_on
from protocol.report.sections.curves import pr_points
from protocol.scores.statistics import CONFIDENCE, CORRECTED, NO_TEST, ONE_DATASET, finite_range, lead
from protocol.scores.summary import COLUMNS, SETTING, at, shared_of
from protocol.scores.tables import Table, read_table

if TYPE_CHECKING:
    import pandas as pd

MARK = "†"
"""The mark of best values whose lead over the second best is significant."""


@dataclass(frozen=True, eq=False)
class Content:
    """The scores and curves that a manuscript shows.

    Parameters
    ----------
    config : mapping
        The checked configuration.
    scores : DataFrame
        Of each run, with the columns `protocol.scores.summary.COLUMNS`: plain codes, and only what is shown.
    runs : DataFrame
        ``runs.csv``, with the numbers of queries and database items of each run.
    examples : mapping of str to DataFrame
        The tables ``radii``, ``curves`` and ``conventions`` of `protocol.report.examples`, with columns for feature and
        split.
    """

    config: Mapping[str, Any]
    scores: "pd.DataFrame"
    runs: "pd.DataFrame"
    examples: "Mapping[str, pd.DataFrame]"

    @cached_property
    def settings(self) -> list[dict[str, str]]:
        """The chosen combinations of feature, ground truth and split that have scores."""
        chosen = itertools.product(*(self.config["paper"][f"{name}s"] for name in SETTING))
        there = set(self.scores[list(SETTING)].itertuples(index=False, name=None))
        return [dict(zip(SETTING, values, strict=True)) for values in chosen if values in there]

    @cached_property
    def hashers(self) -> list[str]:
        """All hashers, in the order of the configuration, those with precomputed codes last."""
        there = set(self.scores["hasher"])
        return [name for name in self.config["names"]["hashers"] if name in there]

    def name(self, kind: str, name: str) -> str:
        """Return the display name of a dataset, feature, ground truth, split, hasher or metric."""
        return display_name(self.config, kind, name)

    def where(self, setting: Mapping[str, str]) -> str:
        """Return a setting in words for a caption; it may lack a ground truth."""
        dataset, feature = self.name("dataset", self.config["dataset"]), self.name("feature", setting["feature"])
        truth = (
            f"; relevance: {self.name('ground_truth', setting['ground_truth'])}" if "ground_truth" in setting else ""
        )
        return f"{dataset}, {feature}{truth}; {self.name('split', setting['split'])} split"

    def trained_on(self, hashers: Iterable[str], setting: Mapping[str, str]) -> str:
        """Return a sentence for a caption on what the supervised hashers learned from, with a space before it."""
        there = set(hashers)
        shown = {self.name("hasher", hasher): hasher for hasher in self.hashers if hasher in there}
        return trained_on(self.config, shown, self.name("feature", setting["feature"]))

    def summary(self, metric: str, setting: Mapping[str, str]) -> "pd.DataFrame":
        """Return hasher, n_bits, mean, std and n_runs of a metric, undefined values left out, in order."""
        rows = at(self.scores, metric=metric, **setting).dropna(subset="value")
        groups = rows.groupby(["hasher", "n_bits"], sort=False)["value"]
        table = groups.agg(mean="mean", std="std", n_runs="size").reset_index()
        return table.assign(order=table["hasher"].map(self.hashers.index)).sort_values(["order", "n_bits"])

    def definition(self, metric: str) -> str:
        """Return a sentence on the ties, the denominator and the undefined values of a metric."""
        record = registry.METRICS.entry(metric)
        undefined = "count as 0" if self.config["undefined"] == "zero" else "are left out of the mean"
        ties, denominator = record.ties.rstrip("."), record.denominator.rstrip(".")
        return f"Ties: {ties}. Denominator: {denominator}. Undefined values {undefined}."


def read_content(
    scores: str | Path, runs: str | Path, examples: Sequence[str | Path], config: Mapping[str, Any]
) -> Content:
    """Return the results that a manuscript shows; every file is verified before it is read.

    Parameters
    ----------
    scores, runs : path
        ``metrics.csv`` and ``runs.csv``.
    examples : sequence of path
        ``.../{feature}/examples/{split}/{name}.csv``
    config : mapping
        The checked configuration.
    """
    rows = read_table(scores, usecols=[*COLUMNS])
    keys = {"metric": "metrics", "n_bits": "n_bits"} | {name: f"{name}s" for name in SETTING}
    for column, key in keys.items():
        rows = rows[rows[column].isin(config["paper"][key])]
    needed = [path for path in examples if Path(path).stem in ("radii", "curves", "conventions")]
    return Content(config, rows[rows["extension"] == "none"], read_table(runs), read_examples(needed))


def paper_figures(content: Content) -> list[Figure]:
    """Return the figures of every setting, as wide as a column."""
    figures: list[Figure] = []
    for setting in content.settings:
        for metric in content.config["paper"]["metrics"]:
            figures += _scores(content, setting, metric)
        figures += [*_curves(content, setting), *_conventions(content, setting)]
    return figures


def _figure(
    content: Content,
    chart: str,
    name: Sequence[object],
    setting: Mapping[str, str],
    rows: "pd.DataFrame",
    caption: str,
    **values: Any,
) -> Figure:
    """Return a chart of the report with the display names of the hashers."""
    hashers = {content.name("hasher", name): name for name in content.config["names"]["hashers"]}
    shown = [content.name("hasher", hasher) for hasher in rows["hasher"]]
    choices = {"metric": rows["metric"].iloc[0]} if "metric" in rows else {}
    spec, file = PAGE.chart(chart, **series_scales(hashers), **values), file_name(*name, *setting.values())
    title, data = caption.split(" on ")[0], rows.assign(hasher=shown)
    return Figure(file, title, caption, spec, data, choices, inches=COLUMN_WIDTH)


def _scores(content: Content, setting: Mapping[str, str], metric: str) -> Iterator[Figure]:
    rows, title = content.summary(metric, setting), content.name("metric", metric)
    if len(rows):
        runs = f"means over the runs ({rows['n_runs'].max()})"
        runs += ", bars show one standard deviation" if rows["n_runs"].max() > 2 else ""
        caption = f"{title} by code length on {content.where(setting)}: {runs}. {content.definition(metric)}"
        caption += content.trained_on(rows["hasher"], setting)
        rows = rows.assign(metric=title)[["metric", "hasher", "n_bits", "mean", "std", "n_runs"]]
        yield _figure(
            content,
            "by-length",
            ["scores", metric],
            setting,
            rows,
            caption,
            zero=False,
            range=str(finite_range(metric)),
        )


def _curves(content: Content, setting: Mapping[str, str]) -> Iterator[Figure]:
    """Yield precision and recall of the top N, and the precision-recall curves, with the middle code length."""
    radii, curves = (
        rows[rows["n_bits"].isin(content.config["paper"]["n_bits"])]
        for rows in (at(content.examples[name], **setting) for name in ("radii", "curves"))
    )
    points = pr_points(radii, ["hasher", "n_bits"])
    chance = points.groupby("n_bits")["chance"].mean()
    top_n = "means over the queries and the runs, expected values over all orders of tied items."
    pooled = "All queries of a run are pooled (micro-average), and a curve is the mean over the runs "
    pooled += "at every Hamming radius."
    shown = [("pr-curves", "pr-curves", points, f"Precision-recall curves on {{}}, {{}} bits. {pooled}")]
    for side in ("recall", "precision"):
        rows = at(curves, metric=side).rename(columns={"at": "N", "value": side})
        rows = rows.assign(chance=rows["n_bits"].map(chance))[["hasher", "n_bits", "N", side, "chance"]]
        shown.insert(0, (f"{side}-at-n", f"{side}-at-n", rows, f"{side.capitalize()}@K on {{}}, {{}} bits: {top_n}"))
    for chart, name, rows, caption in shown:
        if len(rows):
            n_bits = middle(sorted(rows["n_bits"].unique()))
            rows = at(rows, n_bits=n_bits)
            caption = caption.format(content.where(setting), n_bits) + content.trained_on(rows["hasher"], setting)
            yield _figure(content, chart, [name, n_bits], setting, rows, caption)


def _conventions(content: Content, setting: Mapping[str, str]) -> Iterator[Figure]:
    """Yield the values under the named conventions for the codes of the best hasher, if they differ."""
    rows = at(content.examples["conventions"], **setting).dropna(subset="value")
    rows = rows[rows["reported_as_map_by"].fillna("") != ""]
    if rows["value"].nunique() < 2:
        return
    compared = at(rows, metric="mAP") if "mAP" in set(rows["metric"]) else rows
    best = rows.loc[compared["value"].idxmax()]
    undefined = rows["undefined"].map({"0": ", 0/0: 0", "left out": ", 0/0: left out"}).fillna("")
    rows = at(rows.assign(label=rows["metric"] + undefined, named="yes"), hasher=best["hasher"])
    caption = (
        f"The {best['n_bits']}-bit codes of {content.name('hasher', best['hasher'])} (run 0) on "
        f"{content.where(setting)}, scored under the conventions of tools and papers for mAP."
    )
    rows = rows[["hasher", "label", "named", "reported_as_map_by", "value"]]
    yield _figure(content, "one-number", ["conventions"], setting, rows, caption)


def paper_tables(content: Content) -> list[Table]:
    """Return a table of each metric for each feature and split, with the ground truths side by side.

    A table that compares nothing, because it has a single hasher or only undefined values, is left out.
    """
    import pandas as pd

    of_truths = dict.fromkeys((setting["feature"], setting["split"]) for setting in content.settings)
    tables = []
    for metric, (feature, split) in itertools.product(content.config["paper"]["metrics"], of_truths):
        setting = {"feature": feature, "split": split}
        truths = [one["ground_truth"] for one in content.settings if setting.items() <= one.items()]
        summaries = {truth: content.summary(metric, setting | {"ground_truth": truth}) for truth in truths}
        rows = pd.concat([rows.assign(ground_truth=truth) for truth, rows in summaries.items()])
        means = rows.pivot_table(index="hasher", columns=["ground_truth", "n_bits"], values="mean")
        means = means.reindex(columns=truths, level=0).dropna(axis="columns", thresh=2)
        if means.size:
            means = means.reindex(content.hashers).dropna(how="all")
            tables.append(_table(content, metric, setting, means, rows))
    return tables


def _table(
    content: Content, metric: str, setting: dict[str, str], means: "pd.DataFrame", rows: "pd.DataFrame"
) -> Table:
    """Return a table of means: a row for each hasher, a column for each ground truth and code length."""
    better, largest = registry.METRICS.entry(metric).better, means.abs().max(axis=None)
    digits = min(4, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 3  # three significant digits
    texts = means.map(f"{{:.{digits}f}}".format)
    ranks = texts.astype(float).rank(method="dense", ascending=better == "lower")
    texts = texts.where(means.notna(), ABSENT)
    shared = shared_of(content.runs, setting["split"])
    leads = [_is_significant(content, metric, setting, truth, n_bits, shared) for truth, n_bits in means]
    marked = (ranks == 1) & [bool(is_significant) for is_significant in leads] & ((ranks == 1).sum() == 1)
    texts = texts.where(~marked, texts + MARK)
    pairs = math.comb(len(texts), 2)
    tested = NO_TEST if math.isinf(shared) else _tested(leads, bool(marked.any(axis=None)), pairs)
    n_columns = means.columns.get_level_values(0).value_counts(sort=False)
    groups = [(content.name("ground_truth", truth), int(n)) for truth, n in n_columns.items()]
    return Table(
        file_name(metric, setting["feature"], setting["split"]),
        _caption(content, metric, setting, rows[rows["ground_truth"].isin(n_columns.index)], tested),
        ["Method", *(f"{n_bits} bits" for _, n_bits in means)],
        [[content.name("hasher", str(hasher)), *texts] for hasher, *texts in texts.itertuples()],
        strong=cells(ranks == 1),
        second=cells(ranks == 2),
        groups=[[("", 1), *groups]] if len(groups) > 1 else [],
    )


def _is_significant(
    content: Content, metric: str, setting: Mapping[str, str], truth: str, n_bits: int, shared: float
) -> bool | None:
    """Return whether the best hasher leads the second best significantly; None if that can't be tested."""
    scores = at(content.scores, metric=metric, ground_truth=truth, n_bits=n_bits, **setting)
    runs = scores.pivot_table(index="run", columns="hasher", values="value")
    best = lead(runs, shared=shared, better=registry.METRICS.entry(metric).better)
    return None if best is None or math.isnan(best.low) else best.low > 0 or best.high < 0


def _tested(significant: Sequence[bool | None], is_marked: bool, n_pairs: int) -> str:
    """Return a sentence on the meaning of the mark, or on the reason why there is none."""
    if all(one is None for one in significant):
        return "There are too few runs to test the lead of the best value."
    test = f"{CONFIDENCE:.0%} interval of the paired difference over the runs, {CORRECTED}"
    start = f"{MARK}: the" if is_marked else "No"
    pairs = f"with Bonferroni's correction for the number of pairs of methods ({n_pairs})"
    return f"{start} lead over the second best is significant ({test}, {pairs}). {ONE_DATASET}"


def _caption(content: Content, metric: str, setting: dict[str, str], rows: "pd.DataFrame", tested: str) -> str:
    """Return the caption: the numbers, the marks of the best values, and the conventions of the metric."""
    truths = rows["ground_truth"].unique()
    where = content.where(setting | ({"ground_truth": truths[0]} if len(truths) == 1 else {}))
    mean = f"mean over the runs ({between(rows['n_runs'])}; standard deviation at most {rows['std'].max():.3f})"
    return (
        f"{content.name('metric', metric)} on {where}: {mean}. Best value of each column in bold, second best "
        f"underlined. {tested} {content.definition(metric)}" + content.trained_on(rows["hasher"], setting)
    )

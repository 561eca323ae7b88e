"""Figures and tables for the user's own manuscript: of the first feature, ground truth and split.

The charts and their rows are those of the report, as wide as a column. `protocol.papers` redraws the figures of
published papers instead.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.report.drawing import file_name
from protocol.report.examples import middle
from protocol.report.figure import ABSENT, COLUMN_WIDTH, PAGE, DataFrame, Figure, cells, series_scales
from protocol.report.results import Scores, read_examples, run_scores_of, with_display_names
from protocol.report.sections.conventions import convention_values
from protocol.report.sections.curves import pr_rows, top_rows
from protocol.scores.metadata import UNHASHED
from protocol.scores.statistics import CORRECTED, NO_TEST, finite_range, lead
from protocol.scores.summary import SETTING, at
from protocol.scores.tables import Table, read_table

MARK = "†"
"""The mark of best values whose lead over the second best is significant."""
_EXAMPLES = ("radii", "curves", "conventions")


def read_scores(
    scores: str | Path, summary: str | Path, examples: Sequence[str | Path], config: Mapping[str, Any]
) -> Scores:
    """Return the results that a manuscript shows; every file is verified before it is read.

    Parameters
    ----------
    scores, summary : path
        ``metrics.csv`` and ``summary.csv``.
    examples : sequence of path
        ``.../{feature}/examples/{split}/{name}.csv``
    config : mapping
        The checked configuration, with the display names as ``names``.
    """
    runs, means = (with_display_names(read_table(path), config) for path in (scores, summary))
    needed = [path for path in examples if Path(path).stem in _EXAMPLES]
    return Scores(config, means, **run_scores_of(runs), examples=read_examples(needed, config))


def _setting(results: Scores) -> dict[str, str]:
    """Return the feature, ground truth and split that a manuscript shows: the first ones."""
    return {kind: next(iter(results.names(kind).values())) for kind in SETTING}


def _metrics(results: Scores) -> list[str]:
    """Return the metrics that are shown: the main one, and precision within radius 2 if the experiment has it."""
    return list(dict.fromkeys([results.metric, *{"precision@r2"}.intersection(results.config["metrics"])]))


def _file_name(results: Scores, setting: Mapping[str, str], *name: object) -> str:
    """Return the name of a figure's or table's files, with the names of a setting in the config file."""
    places = (next(a for a, b in results.names(kind).items() if b == shown) for kind, shown in setting.items())
    return file_name(*name, *places)


def _about(results: Scores, rows: DataFrame, setting: Mapping[str, str], metric: str = "") -> dict[str, Any]:
    """Return what a caption says of the rows of a setting and of a metric."""
    about = {"metric": results.names("metric").get(metric, metric), "trained": results.trained_on(rows)}
    about["where"] = PAGE.text("paper-where", dataset=results.config["names"]["dataset"], setting=setting)
    record, undefined = registry.METRICS.entry(metric) if metric else None, results.config["undefined"]
    return about | {"definition": PAGE.text("paper-definition", record=record, undefined=undefined) if metric else ""}


def paper_figures(results: Scores) -> Iterator[Figure]:
    """Yield the scores by code length, the curves with the middle code length, and the values by convention."""
    setting = _setting(results)

    def figure(
        chart: dict[str, Any], name: Sequence[object], rows: Any, caption: str, metric: str = "", **values: Any
    ) -> Figure:
        text = PAGE.text(caption, **_about(results, rows, setting, metric), **values)
        choices = {"metric": rows["metric"].iloc[0]} if metric else {}
        data = rows.drop(columns=[*SETTING], errors="ignore")
        file = _file_name(results, setting, *name)
        return Figure(file, text.split(" on ")[0], text, chart, data, choices, inches=COLUMN_WIDTH)

    scales = series_scales(results.hashers)
    for metric in _metrics(results):
        rows = at(results.plain, metric=metric, **setting).dropna(subset="mean")
        if len(rows):
            rows = results.with_unhashed(rows[["metric", *SETTING, "hasher", "n_bits", "mean", "std", "n_runs"]])
            rows = rows.assign(metric=results.names("metric")[metric])
            name, distance = (UNHASHED, results.config[UNHASHED]) if UNHASHED in rows else ("by-length", "")
            chart = PAGE.chart(name, **scales, zero=False, range=str(finite_range(metric)))
            about = {"n_runs": rows["n_runs"].max(), "distance": distance}
            yield figure(chart, ["scores", metric], rows, "paper-scores", metric, **about)
    curves = {"precision-at-n": top_rows(results, "precision"), "recall-at-n": top_rows(results, "recall")}
    for name, of_name in (curves | {"pr-curves": pr_rows(results)}).items():
        rows, chart = at(of_name, **setting), PAGE.chart(name, **scales)
        if len(rows):
            n_bits = middle(sorted(rows["n_bits"].unique()))
            yield figure(chart, [name, n_bits], at(rows, n_bits=n_bits), f"paper-{name}", n_bits=n_bits)
    rows = at(convention_values(results), **setting, named="yes").dropna(subset="value")
    if rows["value"].min() < rows["value"].max():
        compared = at(rows, metric="mAP") if "mAP" in set(rows["metric"]) else rows
        best = rows.loc[compared["value"].idxmax()]
        rows = at(rows, hasher=best["hasher"]).drop(columns=["metric", "undefined", "n_bits"])
        yield figure(PAGE.chart("one-number"), ["conventions"], rows, "paper-conventions", best=best)


def paper_tables(results: Scores) -> Iterator[Table]:
    """Yield a table of each metric: a row for each hasher, a column for each code length.

    A table that compares nothing, because it has a single hasher or only undefined values, is left out.
    """
    for metric in _metrics(results):
        rows = at(results.plain, metric=metric, **_setting(results))
        means = rows.pivot_table(index="hasher", columns="n_bits", values="mean", sort=False)
        means = means.sort_index(axis="columns").dropna(axis="columns", thresh=2).dropna(how="all")
        if means.size:
            yield _table(results, metric, means, rows)


def _table(results: Scores, metric: str, means: DataFrame, rows: DataFrame) -> Table:
    """Return a table of means by hasher and code length."""
    better, largest = registry.METRICS.entry(metric).better, means.abs().max(axis=None)
    digits = min(4, max(0, 2 - math.floor(math.log10(largest)))) if largest > 0 else 3  # three significant digits
    texts = means.map(f"{{:.{digits}f}}".format)
    ranks = texts.astype(float).rank(method="dense", ascending=better == "lower")
    texts = texts.where(means.notna(), ABSENT)
    setting = _setting(results)
    leads = [_is_significant(results, metric, n_bits) for n_bits in means]
    marked = (ranks == 1) & [one is True for one in leads] & ((ranks == 1).sum() == 1)
    texts = texts.where(~marked, texts + MARK)
    about = _about(results, rows, setting, metric) | {"n_runs": list(rows["n_runs"]), "std": rows["std"].max()}
    about |= {"is_tested": any(one is not None for one in leads), "n_pairs": math.comb(len(texts), 2)}
    about |= {"no_test": NO_TEST if math.isinf(results.shared[setting["split"]]) else "", "test": CORRECTED}
    vectors = at(results.unhashed, metric=metric, **setting)["value"].dropna()
    about |= {"n_vectors": len(vectors), "one_dataset": results.runs_share([setting["split"]])}
    caption = PAGE.text("paper-table", **about, mark=MARK if marked.any(axis=None) else "")
    name = _file_name(results, {kind: setting[kind] for kind in ("feature", "split")}, metric)
    header = ["Method", *(f"{n_bits} bits" for n_bits in means)]
    body = [[str(hasher), *of_hasher] for hasher, *of_hasher in texts.itertuples()]
    if len(vectors):
        mean = f"{vectors.mean():.{digits}f}"
        body.append([f"{UNHASHED} ({results.config[UNHASHED]})", *[mean] * len(means.columns)])
    return Table(name, caption, header, body, strong=cells(ranks == 1), second=cells(ranks == 2))


def _is_significant(results: Scores, metric: str, n_bits: int) -> bool | None:
    """Return whether the best hasher leads the second best significantly; None if that can't be tested."""
    setting = _setting(results)
    scores = at(results.run_scores, metric=metric, n_bits=n_bits, **setting)
    runs = scores.pivot_table(index="run", columns="hasher", values="value")
    best = lead(runs, shared=results.shared[setting["split"]], metric=metric)
    return None if best is None or math.isnan(best.of.p) else best.of.is_significant

"""The leak study: tables, text and a figure from the four scores of every run."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.report.drawing import pictures
from protocol.report.figure import DataFrame, data_of, rendered, vega
from protocol.scores.statistics import LEVEL, POWER, TWO_RUNS, detectable_effect, holm, mean_of, shown_interval
from protocol.scores.summary import at
from protocol.scores.tables import read_table

PACKAGE_DATA = "leak.[my]*"
_SETTING = ["feature", "ground_truth"]
_COMBINATION = ["dataset", *_SETTING, "hasher", "n_bits", "train_per_class"]
_MILLI = 1000  # the text and the figure are in thousandths of mAP


def leaks(paths: Iterable[str | Path]) -> DataFrame:
    """Return the four scores of every run and combination, with the leak of `protocol.auditing.leak_study`."""
    import pandas as pd

    table = pd.concat([read_table(path, dtype={"train_per_class": str}) for path in paths], ignore_index=True)
    inside = table["a_on_a"] - table["a_on_b"] + table["b_on_b"] - table["b_on_a"]
    return table.assign(leak=inside / 2).sort_values([*_COMBINATION, "run"], kind="stable", ignore_index=True)


def summarise_leaks(table: DataFrame, controls: Sequence[str]) -> DataFrame:
    """Return the mean leak of every combination over its runs, with intervals and tests.

    Parameters
    ----------
    table : DataFrame
        As `leaks` returns it.
    controls : sequence of str
        The hashers that learn nothing from the training set.

    Returns
    -------
    DataFrame
        A row per combination. ``outside`` is the mean score on the database that does not contain the training set;
        ``leak`` is the mean leak, ``std`` its sample standard deviation over the runs; ``low``, ``high`` and ``p`` are
        the 95% interval and p-value of `protocol.scores.statistics.mean_of`, without intervals that `shown_interval`
        leaves out. ``p_holm`` is p, corrected over all combinations of the hashers that learn, as one family. It is
        missing for the controls, since a correction would hide a leak that should not be there. ``detectable`` is the
        leak that a test with this number of runs detects with a power of 0.8 at the strictest level of the correction.
    """
    summary = _effects(_marked(table, controls), _COMBINATION)
    learns = ~summary["control"]
    summary.loc[learns, "p_holm"] = holm(summary.loc[learns, "p"])
    level = LEVEL / max(1, int(learns.sum()))
    spreads = zip(summary["std"], summary["n_runs"], strict=True)
    summary["detectable"] = [detectable_effect(std, n, level=level) for std, n in spreads]
    order = summary["train_per_class"].replace("all", "inf").astype(float)
    keys = ["dataset", *_SETTING, "control", "hasher", "order", "n_bits"]
    return summary.assign(order=order).sort_values(keys, ignore_index=True).drop(columns="order")


def together(table: DataFrame, controls: Sequence[str]) -> DataFrame:
    """Return the leak of all hashers that learn, and that of all controls, by ground truth and training size.

    The leak of a run is its mean over hashers and code lengths, because the combinations of a run share their items.
    """
    setting = ["dataset", *_SETTING, "control", "train_per_class"]
    by_run = _marked(table, controls).groupby([*setting, "n_train", "run"], sort=True)
    pooled = _effects(by_run[["leak", "outside", "operands"]].mean().reset_index(), setting)
    return pooled.sort_values([*setting[:-1], "n_train"], ignore_index=True)


def _marked(table: DataFrame, controls: Sequence[str]) -> DataFrame:
    """Return the scores with ``control``, ``outside``, and the sum of the numbers that a leak consists of."""
    operands = table[["a_on_a", "a_on_b", "b_on_a", "b_on_b"]].abs().sum(axis=1) / 2
    outside = (table["a_on_b"] + table["b_on_a"]) / 2
    return table.assign(control=table["hasher"].isin(controls), outside=outside, operands=operands)


def _effects(table: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the mean leak over the runs of each group, without intervals that leave the range of a leak."""
    import pandas as pd

    rows = []
    for values, runs in table.groupby(list(keys), sort=True):
        mean = mean_of(runs["leak"], runs["operands"])
        low, high = shown_interval(*mean.interval(), len(runs), "mAP", difference=True)
        rows.append(
            dict(zip(keys, values, strict=True))
            | {"n_train": runs["n_train"].iloc[0], "n_runs": len(runs), "control": runs["control"].iloc[0]}
            | {"outside": runs["outside"].mean(), "leak": mean.mean, "std": runs["leak"].std() if mean.error else 0.0}
            | {"low": float(low), "high": float(high), "p": mean.p()}
        )
    return pd.DataFrame(rows)


def _conclusions(summary: DataFrame, pooled: DataFrame) -> Iterator[dict[str, Any]]:
    """Yield what the template states for each feature and ground truth; `pooled` as `together` returns it."""
    for setting, rows in summary[~summary["control"]].groupby(_SETTING):
        here = at(pooled, **dict(zip(_SETTING, setting, strict=True)), control=False)
        largest, significant = rows.loc[rows["leak"].abs().idxmax()], rows["p_holm"] < LEVEL
        sizes = [f"{_interval(row)} ({_label(row.train_per_class)})" for row in here.itertuples()]
        yield {"setting": setting, "sizes": sizes, "largest": largest, "n": int(significant.sum()), "of": len(rows)}


def _label(size: str) -> str:
    return "the whole database" if size == "all" else f"{size} per class"


def _interval(row: Any) -> str:
    interval = "" if math.isnan(row.low) else f" [{_MILLI * row.low:+.2f}, {_MILLI * row.high:+.2f}]"
    return f"{_MILLI * row.leak:+.2f}{interval}"


def leak_text(table: DataFrame, summary: DataFrame, *, study: Mapping[str, Any], **about: Any) -> str:
    """Return the study as Markdown: the result, the method and the tables.

    Parameters
    ----------
    table : DataFrame
        The table that `leaks` returns.
    summary : DataFrame
        The table that `summarise_leaks` returns.
    study : mapping
        The configuration's key `leak`.
    **about
        For the template: ``experiment``, the name, and ``provenance``, the record of the dataset's file with its notes
        and versions.
    """
    pooled = together(table, study["controls"])
    values = about | {"study": study, "summary": summary, "pooled": pooled}
    values |= {"learners": at(summary, control=False), "controls": at(summary, control=True)}
    values |= {"conclusions": _conclusions(summary, pooled), "label": _label, "interval": _interval}
    values |= {"why": TWO_RUNS if (summary["n_runs"] == 2).any() else "", "level": LEVEL, "power_of_test": POWER}
    return f"{rendered(Path(__file__).with_name('leak.md.j2').read_text(), **values)}\n"


def leak_figure(summary: DataFrame) -> str:
    """Return the leaks with their intervals as SVG, in panels by feature and ground truth, and by training set.

    The panels of a row have one scale, so that training sets can be compared.
    """
    hashers = summary["hasher"].where(~summary["control"], summary["hasher"] + " (control)")
    scaled = {name: _MILLI * summary[name] for name in ("leak", "low", "high")}
    table = summary.assign(hasher=hashers, training_set=summary["train_per_class"].map(_label), **scaled)
    shared = {"hashers": [*table["hasher"].unique()], "sizes": [*table["training_set"].unique()]}
    chart = data_of("leak.yaml")
    panels = []
    for (feature, truth), rows in table.groupby(_SETTING):
        drawn = rows[["hasher", "training_set", "n_bits", "leak", "low", "high", "n_runs"]]
        values = drawn.astype(object).where(drawn.notna(), None).to_dict("records")
        panels.append(vega(chart, shared | {"title": f"{feature}, {truth}: by training set", "values": values}))
    (picture,) = pictures([{"vconcat": panels}])
    return picture["svg"].decode()

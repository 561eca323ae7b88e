"""What the manuscript shows of an experiment's results, as the key `paper` of the configuration selects it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.report.results import display_name, read_examples, trained_on
from protocol.scores.summary import COLUMNS, PLACE, at, shared_of
from protocol.scores.tables import read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Content:
    """The scores and curves that a paper shows.

    Parameters
    ----------
    config : mapping
        The checked configuration.
    scores : DataFrame
        Of each run, with the columns `protocol.scores.summary.COLUMNS`: plain codes, and only what the paper shows.
    runs : DataFrame
        ``runs.csv``, with the numbers of queries and database items of each run.
    radii, curves, conventions : DataFrame
        The tables of `protocol.report.examples` with these names, with columns for feature and split.
    """

    config: Mapping[str, Any]
    scores: "pd.DataFrame"
    runs: "pd.DataFrame"
    radii: "pd.DataFrame"
    curves: "pd.DataFrame"
    conventions: "pd.DataFrame"

    @property
    def metrics(self) -> list[str]:
        """The chosen metrics; the first is the leading one."""
        return list(self.config["paper"]["metrics"])

    @cached_property
    def places(self) -> list[dict[str, str]]:
        """The chosen combinations of feature, ground truth and split that have scores."""
        combinations = self.scores[list(PLACE)].drop_duplicates().itertuples(index=False, name=None)
        order = {name: self.config["paper"][f"{name}s"].index for name in PLACE}
        return [
            dict(zip(PLACE, values, strict=True))
            for values in sorted(
                combinations, key=lambda values: [order[PLACE[i]](value) for i, value in enumerate(values)]
            )
        ]

    @cached_property
    def hashers(self) -> list[str]:
        """All hashers, in the order of the configuration, those with finished codes last."""
        there = set(self.scores["hasher"])
        return [name for name in self.config["names"]["hashers"] if name in there]

    def name(self, kind: str, name: str) -> str:
        """Return the display name of a dataset, feature, ground truth, split, hasher or metric."""
        return display_name(self.config, kind, name)

    def names(self, hashers: Iterable[str]) -> list[str]:
        """Return the display names of hashers."""
        return [self.name("hasher", hasher) for hasher in hashers]

    def where(self, place: Mapping[str, str]) -> str:
        """Return a place in words for a caption; the place may lack a ground truth."""
        dataset, feature = self.name("dataset", self.config["dataset"]), self.name("feature", place["feature"])
        truth = f"; relevance: {self.name('ground_truth', place['ground_truth'])}" if "ground_truth" in place else ""
        return f"{dataset}, {feature}{truth}; {self.name('split', place['split'])} split"

    def trained_on(self, hashers: Iterable[str], place: Mapping[str, str]) -> str:
        """Return a sentence for a caption on what the supervised hashers learned from, with a space before it."""
        there = set(hashers)
        shown = {self.name("hasher", hasher): hasher for hasher in self.hashers if hasher in there}
        return trained_on(self.config, shown, self.name("feature", place["feature"]))

    def summary(self, metric: str, place: Mapping[str, str]) -> "pd.DataFrame":
        """Return hasher, n_bits, mean, std and n_runs of a metric, undefined values left out, in order."""
        rows = at(self.scores, metric=metric, **place).dropna(subset="value")
        groups = rows.groupby(["hasher", "n_bits"], sort=False)["value"]
        table = groups.agg(mean="mean", std="std", n_runs="size").reset_index()
        return table.assign(order=table["hasher"].map(self.hashers.index)).sort_values(["order", "n_bits"])

    def shared(self, split: str) -> float:
        """Return `shared_of` the runs of a split."""
        return shared_of(self.runs, split)

    def definition(self, metric: str) -> str:
        """Return a sentence on the ties, the denominator and the undefined values of a metric."""
        record = registry.METRICS.entry(metric)
        empty = "count as 0" if self.config["empty"] == "zero" else "are left out of the mean"
        return f"Ties: {_lower(record.ties)}; denominator: {_lower(record.denominator)}; undefined values {empty}."


def _lower(sentence: str) -> str:
    """Return a sentence without its full stop, its first word in lower case unless it is a name or a symbol."""
    text = sentence.rstrip(".")
    return text[0].lower() + text[1:] if re.match("[A-Z][a-z]", text) else text


def read_content(
    scores: str | Path, runs: str | Path, examples: Sequence[str | Path], config: Mapping[str, Any]
) -> Content:
    """Return the results that a paper shows; every file is verified before it is read.

    Parameters
    ----------
    scores : path
        ``metrics.csv``.
    runs : path
        ``runs.csv``.
    examples : sequence of path
        ``.../{feature}/examples/{split}/{name}.csv``
    config : mapping
        The checked configuration.
    """
    paper = config["paper"]
    rows = read_table(scores, usecols=[*COLUMNS])
    keys = {"metric": "metrics", "n_bits": "n_bits"} | {name: f"{name}s" for name in PLACE}
    for column, key in keys.items():
        rows = rows[rows[column].isin(paper[key])]
    names = ("radii", "curves", "conventions")
    tables = read_examples(path for path in examples if Path(path).stem in names)
    return Content(
        config, rows[rows["extension"] == "none"], read_table(runs), **{name: tables[name] for name in names}
    )

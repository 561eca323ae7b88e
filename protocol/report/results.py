"""The results of an experiment: everything that the sections of the report read, with display names."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from protocol import registry
from protocol.checks import listed
from protocol.provenance import storage
from protocol.provenance.checksums import verified
from protocol.report.examples import middle
from protocol.report.figure import DataFrame, data_of, in_words
from protocol.scores.metadata import UNHASHED, UNSUPERVISED, supervision_of
from protocol.scores.statistics import FIXED_SPLIT, ONE_DATASET
from protocol.scores.summary import SETTING, at, shared_of
from protocol.scores.tables import read_table

N_FIRST = 8
"""The number of metrics that the reader can choose from at once; the others follow under "more"."""
_KINDS = (*SETTING, "hasher")
"""The columns whose values have display names and an order in the configuration."""


@dataclass(frozen=True)
class Selection:
    """What the reader has selected for all figures, with the number of runs at this setting."""

    feature: str
    ground_truth: str
    split: str
    n_bits: int
    n_runs: int

    @property
    def setting(self) -> dict[str, str]:
        """The feature, the ground truth and the split."""
        return {column: getattr(self, column) for column in SETTING}

    @property
    def combination(self) -> dict[str, Any]:
        """The feature, the ground truth, the split and the code length."""
        return self.setting | {"n_bits": self.n_bits}

    def where(self, *columns: str) -> str:
        """Return the selection in words, without some of its columns."""
        return in_words({name: value for name, value in self.combination.items() if name not in columns})


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of one experiment, and the tables of its figures, with the display names of their values.

    Parameters
    ----------
    config : mapping
        The checked configuration, with every default filled in.
    summary : DataFrame
        As `protocol.scores.summary.summarise` returns it.
    run_scores : DataFrame
        The scores of plain codes in each run, as `collect` returns them.
    unhashed : DataFrame
        Those of the vectors themselves; empty if they were not scored.
    examples : mapping of str to DataFrame
        The tables of `protocol.report.examples` by name, with columns for the feature and the split.
    """

    config: Mapping[str, Any]
    summary: DataFrame
    run_scores: DataFrame
    unhashed: DataFrame
    examples: Mapping[str, DataFrame]

    @cached_property
    def plain(self) -> DataFrame:
        """The rows of the summary for codes without extension, ordered."""
        rows = at(self.summary, extension="none")
        return self.ordered(rows[rows["hasher"] != UNHASHED])

    def with_unhashed(self, scores: DataFrame) -> DataFrame:
        """Return scores with the mean of the vectors themselves as the column ``unhashed``, if they have any."""
        keys = ["metric", *SETTING]
        joined = scores.join(self.unhashed.groupby(keys)["value"].mean().rename(UNHASHED), on=keys)
        return joined if joined[UNHASHED].notna().any() else scores

    @cached_property
    def hashers(self) -> dict[str, str]:
        """The hashers and the methods with precomputed codes: the name in the config file by display name."""
        return {shown: name for name, shown in self.names("hasher").items()}

    @cached_property
    def metric(self) -> str:
        """The main metric: mAP, or the first metric if mAP is not among them."""
        metrics = self.config["metrics"]
        return "mAP" if "mAP" in metrics else str(metrics[0])

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics in the order in which they are offered: the main one, the most common ones, and the others."""
        metrics, first = self.config["metrics"], data_of("page.yaml")["first_metrics"]
        return list(dict.fromkeys([self.metric, *(name for name in first if name in metrics), *metrics]))

    @cached_property
    def shared(self) -> dict[str, float]:
        """`protocol.scores.summary.shared_of` the runs of each split."""
        return {split: shared_of(self.summary, split) for split in self.summary["split"].unique()}

    @cached_property
    def fixed(self) -> list[str]:
        """The display names of the splits that are the same in every run."""
        protocols = {shown: registry.get("split", name) for name, shown in self.names("split").items()}
        return [shown for shown, of in protocols.items() if all(map(of.is_fixed, of.partitions))]

    def runs_share(self, splits: Iterable[str]) -> str:
        """Return sentences on what the runs of these splits, by display name, have in common."""
        in_order = sorted(splits, key=self.fixed.__contains__)
        sentences = [FIXED_SPLIT.format(split) if split in self.fixed else ONE_DATASET for split in in_order]
        return " ".join(dict.fromkeys(sentences))

    @cached_property
    def table(self) -> dict[str, DataFrame]:
        """The tables of `examples`, ordered."""
        return {name: self.ordered(table) for name, table in self.examples.items()}

    def names(self, kind: str) -> dict[str, str]:
        """Return the display names of features, ground truths, splits, hashers or metrics by name in the config file.

        They are in the order of the configuration.
        """
        return dict(self.config["names"][f"{kind}s"])

    def trained_on(self, rows: DataFrame) -> str:
        """Return a sentence on what the supervised hashers in some rows learned from, after a space; "" without any."""
        features, learners = rows["feature"].unique(), dict[str, list[str]]()
        feature = features[0] if len(features) == 1 else "the feature"
        for shown in rows["hasher"].unique():
            learners.setdefault(supervision_of(self.config, self.hashers[shown], feature), []).append(shown)
        parts = [f"on {kind}: {listed(names)}" for kind, names in learners.items() if kind not in UNSUPERVISED]
        return f" Trained {'; '.join(parts)}." if parts else ""

    def ordered(self, table: DataFrame) -> DataFrame:
        """Return rows sorted by feature, ground truth, split and hasher, in the order of the configuration."""
        columns = [name for name in (*_KINDS, "n_bits") if name in table]
        orders = {kind: [*self.names(kind).values()].index for kind in columns if kind in _KINDS}
        ranks = {kind: table[kind].map(order) for kind, order in orders.items()}
        return table.loc[table.assign(**ranks).sort_values(columns, kind="stable").index]

    def by_metric(self, table: DataFrame) -> DataFrame:
        """Return rows sorted by metric, in the order of `metrics`."""
        return table.loc[table["metric"].map(self.metrics.index).sort_values(kind="stable").index]


@dataclass(frozen=True, eq=False)
class Results(Scores):
    """The results of one experiment.

    Parameters
    ----------
    config, summary, run_scores, unhashed, examples
        As for `Scores`.
    provenance : mapping
        The provenance record of the dataset's file: versions, sources, notes, and the shapes of its arrays.
    items : mapping of str to ndarray
        ``ids`` and ``class_names``, and ``labels`` and ``partitions/<name>`` if the dataset has them.
    images : array of uint8, shape (n, height, width) or (n, height, width, 3), or None
        The dataset's images; only those that are shown are read.
    findings : DataFrame
        As `protocol.auditing.write_findings` writes it.
    selection : DataFrame or None
        As `protocol.hashers.selection.write_table` writes it; None if no options were selected.
    duplicates : DataFrame or None
        As `protocol.scores.summary.with_and_without` returns it; None if no judged pairs of the dataset are known.
    splits : mapping of str to mapping
        The partitions of run 0, by split protocol and partition.
    published : DataFrame or None
        Published scores; None unless the experiment is a reproduction.
    libraries : mapping of str to mapping
        By library, the number of files that were made with each version.
    claims : sequence of mapping
        The papers' claims and their outcomes; empty unless the experiment is a reproduction. The keys are ``paper``,
        ``place``, ``claim``, ``expected``, ``ours``, ``status``, ``parts`` and ``note``.
    """

    provenance: Mapping[str, Any]
    items: Mapping[str, NDArray]
    images: Any
    findings: DataFrame
    selection: DataFrame | None
    duplicates: DataFrame | None
    splits: Mapping[str, Mapping[str, NDArray]]
    published: DataFrame | None
    libraries: Mapping[str, Mapping[str, int]]
    claims: Sequence[Mapping[str, Any]]

    @cached_property
    def class_names(self) -> list[str]:
        """The names of class 0, 1, ...; [] without labels."""
        return [name.decode() for name in self.items["class_names"]]

    @cached_property
    def selections(self) -> list[Selection]:
        """Everything that the reader can select; the first setting with its middle code length is first."""
        n_runs = self.plain.groupby(list(SETTING))["n_runs"].max().to_dict()
        combinations = dict.fromkeys(self.plain[[*SETTING, "n_bits"]].itertuples(index=False, name=None))
        fields = [(*combination, int(n_runs[combination[:-1]])) for combination in combinations]
        selections = [Selection(*of_one) for of_one in fields]
        n_bits = middle([one.n_bits for one in selections if one.setting == selections[0].setting])
        return sorted(selections, key=lambda one: (one.setting, one.n_bits) != (selections[0].setting, n_bits))


def with_display_names(table: DataFrame, config: Mapping[str, Any]) -> DataFrame:
    """Return a table with the display names of its features, ground truths, splits and hashers."""
    return table.assign(**{kind: table[kind].replace(config["names"][f"{kind}s"]) for kind in _KINDS if kind in table})


def run_scores_of(metrics: DataFrame) -> dict[str, DataFrame]:
    """Return the fields `run_scores` and `unhashed` of `Scores` from the table metrics.csv."""
    plain = at(metrics, extension="none")
    is_code = plain["hasher"] != UNHASHED
    return {"run_scores": plain[is_code], "unhashed": plain[~is_code]}


@contextlib.contextmanager
def reading(files: Mapping[str, Any], *, config: Mapping[str, Any]) -> Iterator[Results]:
    """Open the results of an experiment as a context; images are read from their file when they are needed.

    Every file from another stage is verified before it is read.

    Parameters
    ----------
    files : mapping of str to path or paths
        ``content``, ``labels``, ``metrics``, ``summary``, ``audit``; lists: ``selection``, ``duplicates``, ``splits``,
        ``claims`` and ``published`` (empty unless the experiment is a reproduction), ``examples``, ``provenance``, and
        ``models`` (files whose records have the versions of libraries).
    config : mapping
        The checked configuration.
    """
    import json

    import pandas as pd

    def read(path: Any, reader: Callable[..., DataFrame] = read_table) -> DataFrame:
        return with_display_names(reader(path), config)

    provenance, names = storage.read_provenance(files["content"]), config["names"]["splits"]
    has_images = "images" in provenance["arrays"]
    with storage.streamed(files["content"], "images") if has_images else contextlib.nullcontext() as images:
        yield Results(
            config=config,
            summary=read(files["summary"]),
            **run_scores_of(read(files["metrics"])),
            examples=read_examples(files["examples"], config),
            provenance=provenance,
            items=storage.read(files["labels"]),
            images=images,
            findings=read_table(files["audit"]),
            selection=next(map(read, files["selection"]), None),
            duplicates=next(map(read, files["duplicates"]), None),
            splits={names[Path(path).parents[1].name]: storage.read(path) for path in files["splits"]},
            published=next((read(path, pd.read_csv) for path in files["published"]), None),
            libraries=_libraries([*files["provenance"], *files["models"]]),
            claims=next((json.loads(verified(path)) for path in files["claims"]), []),
        )


def _libraries(paths: Iterable[str | Path]) -> Mapping[str, Mapping[str, int]]:
    """Return the number of files that were made with each version, by library."""
    numbers = defaultdict[str, Counter[str]](Counter)
    for path in dict.fromkeys(map(str, paths)):
        for library, version in storage.read_provenance(path)["versions"].items():
            numbers[library][version] += 1
    return numbers


def read_examples(paths: Iterable[str | Path], config: Mapping[str, Any]) -> dict[str, DataFrame]:
    """Return the tables of the rule `examples` by name, with display names, also of the feature and the split.

    Parameters
    ----------
    paths : iterable of path
        ``.../{feature}/examples/{split}/{name}.csv``
    config : mapping
        The checked configuration.
    """
    import pandas as pd

    tables: dict[str, list[DataFrame]] = {}
    for path in map(Path, paths):
        table = read_table(path).assign(feature=path.parts[-4], split=path.parts[-2])
        tables.setdefault(path.stem, []).append(with_display_names(table, config))
    # The columns of a table without rows have no type, and would make columns of numbers non-numeric in `concat`.
    filled = {name: [part for part in parts if len(part)] or parts[:1] for name, parts in tables.items()}
    return {name: pd.concat(parts, ignore_index=True) for name, parts in filled.items()}

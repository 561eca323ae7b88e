"""The rows that the papers' figures are drawn from: of one experiment, or of all results in a folder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.provenance.checksums import verify
from protocol.report.papers._drawn import PLACE, plugin_of, printed_name, several
from protocol.report.results import Results

if TYPE_CHECKING:
    import pandas as pd

_METHOD = ("hasher", "plugin", "method")
_SUMMARY = (*PLACE, *_METHOD, "n_bits", "extension", "extension_bits", "metric", "mean", "std", "n_runs")
_RADII = (*PLACE, *_METHOD, "n_bits", "extension", "extension_bits", "metric", "radius", "value", "n_runs")
_HISTOGRAM = ("experiment", "dataset", "feature", "split", *_METHOD, "n_bits", "code", "items")
_ALPHA = (*PLACE, *_METHOD, "n_bits", "metric", "alpha", "growth", "variant", "mean", "std", "n_runs")
_STORED = {"dataset", "feature", "ground_truth", "split", "hasher", "n_bits", "metric", "mean", "n_runs"}
_ALPHA_STORED = {"hasher", "metric", "alpha", "growth", "mean", "std", "n_runs"}
_RADII_STORED = {
    "dataset",
    "feature",
    "ground_truth",
    "split",
    "hasher",
    "n_bits",
    "metric",
    "radius",
    "value",
    "n_runs",
}
_LOOKUPS_STORED = {"dataset", "feature", "split", "hasher", "n_bits", "radius", "milliseconds"}
_HISTOGRAM_STORED = {"dataset", "feature", "split", "hasher", "n_bits", "code", "items"}
_FILLED = {"extension": "none", "extension_bits": 0, "std": float("nan"), "n_bits": 0, "variant": "", "n_runs": 1}
_FILLED |= dict.fromkeys(PLACE, "")
"""The values of columns that a stored table lacks."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows of results, each with the experiment that it comes from.

    ``plugin`` is the registered hasher behind the name ``hasher``, and ``method`` its name as a paper prints it.

    Parameters
    ----------
    summary : DataFrame
        Means over the runs, as `protocol.report.summarise` returns them.
    radii, histogram : DataFrame
        The tables of `protocol.report.display` of these names. ``radii`` also has the table ``lookups``, as the metric
        ``milliseconds``.
    alpha : DataFrame
        Scores of the hashers of TALR by ``alpha``, its first value, and ``growth``, the factor by which it grew until
        the end.
    printed : mapping of str to mapping
        Numbers that the papers print: the expected values of each claim.
    """

    summary: "pd.DataFrame"
    radii: "pd.DataFrame"
    histogram: "pd.DataFrame"
    alpha: "pd.DataFrame"
    printed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of_experiment(cls, results: Results) -> Self:
        """Return the rows of one experiment."""
        name, dataset = results.config["experiment"], results.config["dataset"]
        uses = results.config.get("hasher_uses", {})
        summary = _named(results.ordered(results.summary).assign(experiment=name), _SUMMARY, uses)
        tables = {key: table.assign(experiment=name, dataset=dataset) for key, table in results.table.items()}
        options = results.config.get("hasher_options", {})
        radii = [_named(table, _RADII, uses) for table in (tables["radii"], _times(tables["lookups"]))]
        return cls(
            summary=summary,
            radii=_together(radii, _RADII),
            histogram=_named(tables["histogram"], _HISTOGRAM, uses),
            alpha=_with_slope(summary, options),
            printed=results.printed,
        )

    @classmethod
    def in_folder(cls, folder: str | Path, printed: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the rows of every experiment in a folder of results, and of the tables in its ``reference/``.

        The folder may also be that of one experiment. Tables with other columns are left out.

        Raises
        ------
        ProtocolError
            If there is no such folder, or a table in it can't be read.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise ProtocolError(f"{folder}: expected a folder of results, got none; run an experiment first.")
        experiments = [path.parent for pattern in ("summary.csv", "*/summary.csv") for path in _files(folder, pattern)]
        stored = list(_stored(_files(folder, "reference/*/*.csv")))
        summaries, alphas = [], []
        for experiment in experiments:
            table = _table(experiment / "summary.csv").assign(experiment=experiment.absolute().name)
            summary = _named(table, _SUMMARY)
            summaries.append(summary)
            alphas.append(_with_slope(summary, _options(experiment)))
        summaries += [table for kind, table in stored if kind == "summary"]
        alphas += [table for kind, table in stored if kind == "alpha"]
        radii, histogram = (
            [*_displayed(experiments, name, columns), *(table for kind, table in stored if kind == name)]
            for name, columns in (("radii", _RADII), ("histogram", _HISTOGRAM))
        )
        radii += _displayed(experiments, "lookups", _RADII)
        return cls(
            summary=_together(summaries, _SUMMARY),
            radii=_together(radii, _RADII),
            histogram=_together(histogram, _HISTOGRAM),
            alpha=_together(alphas, _ALPHA),
            printed=printed,
        )

    def rows(self, **columns: Any) -> "pd.DataFrame":
        """Return the rows of the summary with these values; a list or tuple means one of its values."""
        return having(self.summary, **columns)


def having(table: "pd.DataFrame", **columns: Any) -> "pd.DataFrame":
    """Return the rows of a table with these values; a list or tuple means one of its values."""
    for name, value in columns.items():
        one_of = table[name].isin(value) if isinstance(value, list | tuple) else table[name] == value
        table = table[one_of]
    return table


def _named(table: "pd.DataFrame", columns: Iterable[str], uses: Mapping[str, str] | None = None) -> "pd.DataFrame":
    """Return a table with the methods' names and these columns, in order; `_FILLED` provides missing columns."""
    uses = uses or {}
    plugins = {name: uses.get(name) or plugin_of(name) for name in table["hasher"].unique()}
    methods = {name: printed_name(name, plugin) for name, plugin in plugins.items()}
    table = table.assign(plugin=table["hasher"].map(plugins), method=table["hasher"].map(methods))
    filled = {name: _FILLED[name] for name in columns if name not in table}
    return table.assign(**filled)[[*columns]]


def _together(tables: "list[pd.DataFrame]", columns: Iterable[str]) -> "pd.DataFrame":
    import pandas as pd

    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=[*columns])


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def _table(path: Path) -> "pd.DataFrame":
    """Return a table; its checksum is verified where it has one: the stored reference results have none."""
    import pandas as pd

    verify(path, required=False)
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ProtocolError(f"{path}: expected a table, got: {' '.join(str(error).split())}.") from error


def _stored(paths: Iterable[Path]) -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the stored tables that figures are drawn from, with their kind."""
    for path in paths:
        table = _table(path)
        name = f"reference/{path.parent.name}"
        if set(table) >= _ALPHA_STORED:
            yield "alpha", _named(table.assign(experiment=name, variant=_variant(table)), _ALPHA)
        elif set(table) >= _RADII_STORED:
            yield "radii", _named(table.assign(experiment=name), _RADII)
        elif set(table) >= _LOOKUPS_STORED:
            yield "radii", _named(_times(table.assign(experiment=name)), _RADII)
        elif set(table) >= _HISTOGRAM_STORED:
            yield "histogram", _named(table.assign(experiment=name), _HISTOGRAM)
        elif set(table) >= _STORED:
            yield "summary", _named(table.assign(experiment=name), _SUMMARY)


def _variant(table: "pd.DataFrame") -> "pd.Series":
    """Return in words the values of the columns, besides the known ones, in which the rows of a table differ."""
    words = table["hasher"].map(lambda hasher: "")
    for name in table:
        if name not in _ALPHA and several(table[name]):
            words += f", {name.replace('_', ' ')} " + table[name].astype(str)
    return words


def _displayed(experiments: Iterable[Path], name: str, columns: Iterable[str]) -> "list[pd.DataFrame]":
    """Return a table of the rule `display` of every experiment, feature and split."""
    tables = []
    for experiment in experiments:
        for path in _files(experiment, f"*/display/*/{name}.csv"):
            dataset = _table(experiment / "summary.csv")["dataset"].iloc[0]
            place = {"experiment": experiment.absolute().name, "dataset": dataset}
            place |= {"feature": path.parts[-4], "split": path.parts[-2]}
            table = _table(path).assign(**place)
            tables.append(_named(_times(table) if name == "lookups" else table, columns))
    return tables


def _times(lookups: "pd.DataFrame") -> "pd.DataFrame":
    """Return the times of the table ``lookups`` as rows of ``radii``: run 0, whatever the ground truth."""
    return lookups.rename(columns={"milliseconds": "value"}).assign(metric="milliseconds")


def _options(experiment: Path) -> dict[str, Mapping[str, Any]]:
    """Return the options of TALR's hashers of an experiment by name, from their models of run 0."""
    paths = _files(experiment, "*/*/run0/talr_*/models.h5")
    return {path.parent.name: storage.read_provenance(path)["parameters"] for path in paths}


def _with_slope(summary: "pd.DataFrame", options: Mapping[str, Mapping[str, Any]]) -> "pd.DataFrame":
    """Return the scores of the hashers with the options ``alpha``, the slope of tanh, and ``growth``, with both.

    In other hashers, an option alpha has another meaning, and there is no growth.
    """
    sloped = {hasher: own for hasher, own in options.items() if {"alpha", "growth"} <= set(own)}
    own = having(summary, hasher=[*sloped], extension="none")
    for name in ("alpha", "growth"):
        own = own.assign(**{name: own["hasher"].map({hasher: given[name] for hasher, given in sloped.items()})})
    return own.assign(variant="")[[*_ALPHA]]

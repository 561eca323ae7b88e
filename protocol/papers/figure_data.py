"""The rows that the papers' figures are drawn from: of one experiment, or of all results in a folder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from protocol.checks import ProtocolError
from protocol.papers.layout import PLACE, plugin_of, printed_name, several
from protocol.papers.results import having
from protocol.provenance import storage
from protocol.provenance.checksums import verify
from protocol.report.results import Results
from protocol.scores.summary import REQUIRED, read_summary

if TYPE_CHECKING:
    import pandas as pd

_METHOD = ("hasher", "plugin", "method", "n_bits")
_EXTENDED = (*PLACE, *_METHOD, "extension", "extension_bits", "metric")
COLUMNS = {
    "summary": (*_EXTENDED, "mean", "std", "n_runs"),
    "radii": (*_EXTENDED, "radius", "value", "n_runs"),
    "histogram": ("experiment", "dataset", "feature", "split", *_METHOD, "code", "items"),
    "alpha": (*PLACE, *_METHOD, "metric", "alpha", "growth", "variant", "mean", "std", "n_runs"),
}
"""The columns of each table of `FigureData`."""
_FILLED = {"extension": "none", "extension_bits": 0, "std": float("nan"), "n_bits": 0, "variant": "", "n_runs": 1}
_FILLED |= dict.fromkeys(PLACE, "")
"""The values of columns that a stored table lacks."""
_CODES = {"dataset", "feature", "split", "hasher", "n_bits"}
_STORED = {
    "alpha": {"hasher", "metric", "alpha", "growth", "mean", "std", "n_runs"},
    "radii": {*_CODES, "ground_truth", "metric", "radius", "value", "n_runs"},
    "lookups": {*_CODES, "radius", "milliseconds"},
    "histogram": {*_CODES, "code", "items"},
    "summary": set(REQUIRED),
}
"""The columns by which a stored table is recognised, by the name of the table; the first that fits."""


@dataclass(frozen=True, eq=False)
class FigureData:
    """Rows of results, each with the experiment that it comes from.

    ``plugin`` is the registered hasher behind the name ``hasher``, and ``method`` its name as a paper prints it.

    Parameters
    ----------
    summary : DataFrame
        Means over the runs, as `protocol.scores.summary.summarise` returns them.
    radii, histogram : DataFrame
        The tables of `protocol.report.examples` of these names. ``radii`` also has the table ``lookups``, as the metric
        ``milliseconds``.
    alpha : DataFrame
        Scores of the hashers of TALR by ``alpha``, its first value, and ``growth``, the factor by which it grew until
        the end.
    """

    summary: "pd.DataFrame"
    radii: "pd.DataFrame"
    histogram: "pd.DataFrame"
    alpha: "pd.DataFrame"

    @classmethod
    def of_experiment(cls, results: Results) -> Self:
        """Return the rows of one experiment."""
        name, dataset = results.config["experiment"], results.config["dataset"]
        bases = results.config.get("hasher_bases", {})
        summary = _named(results.ordered(results.summary).assign(experiment=name), "summary", bases)
        shown = [
            (kind, _named(results.table[kind].assign(experiment=name, dataset=dataset), kind, bases))
            for kind in ("radii", "lookups", "histogram")
        ]
        alpha = _with_slope(summary, results.config.get("hasher_options", {}))
        return cls(**_together([("summary", summary), *shown, ("alpha", alpha)]))

    @classmethod
    def in_folder(cls, folder: str | Path) -> Self:
        """Return the rows of every experiment in a folder of results, and of the tables in its ``reference/``.

        The folder may also be that of one experiment. Tables with other columns are left out.

        Raises
        ------
        ProtocolError
            If there is no such folder, or a table in it can't be read.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise ProtocolError(f"{folder}: no such folder. Run an experiment first.")
        summaries = [path for pattern in ("summary.csv", "*/summary.csv") for path in sorted(folder.glob(pattern))]
        tables = [table for path in summaries for table in _of_experiment(path)]
        tables += [table for path in sorted(folder.glob("reference/*/*.csv")) for table in _stored(path)]
        return cls(**_together(tables))

    def rows(self, **columns: Any) -> "pd.DataFrame":
        """Return the rows of the summary with these values; a list or tuple means one of its values."""
        return having(self.summary, **columns)


def _of_experiment(summary_csv: Path) -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the tables of an experiment with their names, those of the rule `examples` included."""
    folder = summary_csv.parent
    name = folder.absolute().name
    summary = _named(_summary(summary_csv).assign(experiment=name), "summary")
    yield "summary", summary
    models = sorted(folder.glob("*/*/run0/talr_*/models.h5"))
    options = {path.parent.name: storage.read_provenance(path)["parameters"] for path in models}
    yield "alpha", _with_slope(summary, options)
    for kind in ("radii", "histogram", "lookups"):
        for path in sorted(folder.glob(f"*/examples/*/{kind}.csv")):
            place = {"experiment": name, "feature": path.parts[-4], "split": path.parts[-2]}
            yield kind, _named(_table(path).assign(**place, dataset=summary["dataset"].iloc[0]), kind)


def _stored(path: Path) -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the table in a file of stored results with its name; nothing if figures need no such table."""
    table = _table(path)
    kind = next((kind for kind, columns in _STORED.items() if columns <= set(table)), None)
    if kind == "summary":
        table = _summary(path)
    elif kind == "alpha":
        table = table.assign(variant=_variant(table))
    if kind is not None:
        yield kind, _named(table.assign(experiment=f"reference/{path.parent.name}"), kind)


def _summary(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(read_summary(path))


def _table(path: Path) -> "pd.DataFrame":
    """Return a table; its checksum is verified where it has one: the stored reference results have none."""
    import pandas as pd

    verify(path, required=False)
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ProtocolError(f"{path}: the table can't be read: {' '.join(str(error).split())}.") from error


def _named(table: "pd.DataFrame", kind: str, bases: Mapping[str, str] | None = None) -> "pd.DataFrame":
    """Return a table with the methods' names and the columns of its kind; `_FILLED` provides missing columns.

    The times of the table ``lookups`` become rows of ``radii``: run 0, whatever the ground truth.
    """
    bases = bases or {}
    if kind == "lookups":
        table, kind = table.rename(columns={"milliseconds": "value"}).assign(metric="milliseconds"), "radii"
    plugins = {name: bases.get(name) or plugin_of(name) for name in table["hasher"].unique()}
    methods = {name: printed_name(name, plugin) for name, plugin in plugins.items()}
    table = table.assign(plugin=table["hasher"].map(plugins), method=table["hasher"].map(methods))
    filled = {name: _FILLED[name] for name in COLUMNS[kind] if name not in table}
    return table.assign(**filled)[[*COLUMNS[kind]]]


def _together(tables: "Iterable[tuple[str, pd.DataFrame]]") -> "dict[str, pd.DataFrame]":
    """Return one table of each kind."""
    import pandas as pd

    parts: dict[str, list[pd.DataFrame]] = {kind: [] for kind in COLUMNS}
    for kind, table in tables:
        if len(table):
            parts["radii" if kind == "lookups" else kind].append(table)
    return {
        kind: pd.concat(of_kind, ignore_index=True) if of_kind else pd.DataFrame(columns=[*COLUMNS[kind]])
        for kind, of_kind in parts.items()
    }


def _variant(table: "pd.DataFrame") -> "pd.Series":
    """Return in words the values of the columns, besides the known ones, in which the rows of a table differ."""
    words = table["hasher"].map(lambda hasher: "")
    for name in table:
        if name not in COLUMNS["alpha"] and several(table[name]):
            words += f", {name.replace('_', ' ')} " + table[name].astype(str)
    return words


def _with_slope(summary: "pd.DataFrame", options: Mapping[str, Mapping[str, Any]]) -> "pd.DataFrame":
    """Return the scores of the hashers with the options ``alpha``, the slope of tanh, and ``growth``, with both.

    In other hashers, an option alpha has another meaning, and there is no growth.
    """
    sloped = {hasher: values for hasher, values in options.items() if {"alpha", "growth"} <= set(values)}
    rows = having(summary, hasher=[*sloped], extension="none")
    slopes = {
        name: rows["hasher"].map({hasher: sloped[hasher][name] for hasher in sloped}) for name in ("alpha", "growth")
    }
    return rows.assign(**slopes, variant="")[[*COLUMNS["alpha"]]]

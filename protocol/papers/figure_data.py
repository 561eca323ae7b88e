"""The rows that the papers' figures are drawn from: of one experiment, or of all results in a folder."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.provenance.checksums import verify
from protocol.report.results import Results
from protocol.scores.summary import REQUIRED, read_summary

if TYPE_CHECKING:
    import pandas as pd

PLACE = ("experiment", "dataset", "feature", "ground_truth", "split")
"""The columns that identify the source of a value."""
_METHOD = ("hasher", "plugin", "method", "n_bits")
_SCORES = (*PLACE, *_METHOD, "metric", "mean", "std", "n_runs")
COLUMNS = {
    "summary": _SCORES,
    "radii": (*_SCORES, "radius"),
    "histogram": (*PLACE, *_METHOD, "code", "items", "n_runs"),
    "alpha": (*_SCORES, "alpha", "growth"),
}
"""The columns of each table of `FigureData`."""
_FILLED = {"std": float("nan"), "n_bits": 0, "n_runs": 1, **dict.fromkeys(PLACE, "")}
"""The values of columns that a stored table lacks."""
_STORED = {
    "alpha": {"hasher", "metric", "alpha", "growth", "mean", "std", "n_runs"},
    "radii": {"dataset", "hasher", "n_bits", "metric", "radius", "value"},
    "lookups": {"dataset", "hasher", "n_bits", "radius", "milliseconds"},
    "histogram": {"dataset", "hasher", "n_bits", "code", "items"},
    "summary": set(REQUIRED),
}
"""The columns by which a stored table is recognised, by the name of the table; the first that fits."""


@dataclass(frozen=True, eq=False)
class FigureData:
    """Rows of results for codes without extension, each with the experiment that it comes from.

    ``plugin`` is the registered hasher behind the name ``hasher``, and ``method`` its name as a paper prints it.

    Parameters
    ----------
    summary : DataFrame
        Means over the runs, as `protocol.scores.summary.summarise` returns them.
    radii : DataFrame
        The same by Hamming radius: metrics such as ``RAMAP`` of the summary, and ``mAP``, which is the same at all; the
        table ``radii`` of `protocol.report.examples`, and its table ``lookups`` as the metric ``milliseconds``.
    histogram : DataFrame
        The table ``histogram`` of `protocol.report.examples`.
    alpha : DataFrame
        Scores of the hashers of TALR by ``alpha``, its first value, and ``growth``, the factor by which it grew until
        the end.
    """

    summary: "pd.DataFrame"
    radii: "pd.DataFrame"
    histogram: "pd.DataFrame"
    alpha: "pd.DataFrame"

    @classmethod
    def of_tables(cls, tables: "Iterable[tuple[str, pd.DataFrame]]") -> Self:
        """Return the rows of tables, given the kind and the rows of each; `_FILLED` provides missing columns."""
        import pandas as pd

        parts: dict[str, list[pd.DataFrame]] = {kind: [] for kind in COLUMNS}
        for kind, table in tables:
            if kind == "lookups":
                table, kind = table.rename(columns={"milliseconds": "mean"}).assign(metric="milliseconds"), "radii"
            if "extension" in table:
                table = table[table["extension"] == "none"]
            if table.empty:
                continue
            table = _named(table.rename(columns={"value": "mean"}))
            if kind == "summary":
                names = table["metric"].str.extract(r"^(?P<metric>\w+)@r(?P<radius>\d+)$").dropna()
                by_radius = table.drop(columns="metric").join(names, how="inner").astype({"radius": int})
                codes = [*PLACE, "hasher", "n_bits"]
                whole = table[table["metric"] == "mAP"].merge(by_radius[[*codes, "radius"]].drop_duplicates(), on=codes)
                parts["radii"] += [
                    rows.reindex(columns=[*COLUMNS["radii"]]) for rows in (by_radius, whole) if len(rows)
                ]
            filled = {name: _FILLED[name] for name in COLUMNS[kind] if name not in table}
            parts[kind].append(table.assign(**filled)[[*COLUMNS[kind]]])
        made = {
            kind: pd.concat(own, ignore_index=True) if own else pd.DataFrame(columns=[*COLUMNS[kind]])
            for kind, own in parts.items()
        }
        same = [name for name in COLUMNS["radii"] if name not in ("mean", "std", "n_runs")]
        return cls(**made | {"radii": made["radii"].drop_duplicates(same, ignore_index=True)})

    @classmethod
    def of_experiment(cls, results: Results) -> Self:
        """Return the rows of one experiment."""
        place = {"experiment": results.config["experiment"], "dataset": results.config["dataset"]}
        bases = results.config.get("hasher_bases", {})
        tables = [("summary", results.ordered(results.summary))]
        tables += [(kind, results.table[kind]) for kind in ("radii", "lookups", "histogram")]
        tables += [("alpha", _with_slope(results.summary, results.config.get("hasher_options", {})))]
        return cls.of_tables(
            (kind, table.assign(**place, plugin=[bases.get(name) or plugin_of(name) for name in table["hasher"]]))
            for kind, table in tables
        )

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
        tables = [table for path in summaries for table in _of_folder(path)]
        for path in sorted(folder.glob("reference/*/*.csv")):
            table = _table(path)
            kind = next((kind for kind, columns in _STORED.items() if columns <= set(table)), None)
            if kind is not None:
                table = _summary(path) if kind == "summary" else table
                tables.append((kind, table.assign(experiment=f"reference/{path.parent.name}")))
        return cls.of_tables(tables)


def plugin_of(hasher: str) -> str:
    """Return the hasher that a name in a table begins with, or the name itself.

    Examples
    --------
    >>> plugin_of("talr_ap_40"), plugin_of("m_dsh"), plugin_of("theirs")
    ('talr_ap', 'm_dsh', 'theirs')
    """
    known = [name for name in registry.names("hasher") if f"{hasher}_".startswith(f"{name}_")]
    return max(known, key=len, default=hasher)


def printed_name(hasher: str, plugin: str) -> str:
    """Return a hasher's name as papers print it, followed by what a configuration adds to the name.

    Examples
    --------
    >>> printed_name("talr_ap_40", "talr_ap"), printed_name("m_dsh_4", "m_dsh"), printed_name("mine", "mine")
    ('TALR-AP 40', '4-DSH', 'mine')
    """
    if plugin == "m_dsh" and hasher != plugin:
        return f"{hasher.removeprefix('m_dsh_')}-DSH"
    return registry.printed_name("hasher", plugin, hasher) if plugin in registry.names("hasher") else hasher


def _of_folder(summary_csv: Path) -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the tables of an experiment with their names, those of the rule `examples` included."""
    folder = summary_csv.parent
    summary = _summary(summary_csv).assign(experiment=folder.absolute().name)
    yield "summary", summary
    models = sorted(folder.glob("*/*/run0/talr_*/models.h5"))
    options = {path.parent.name: storage.read_provenance(path)["parameters"] for path in models}
    yield "alpha", _with_slope(summary, options)
    for kind in ("radii", "histogram", "lookups"):
        for path in sorted(folder.glob(f"*/examples/*/{kind}.csv")):
            place = {"feature": path.parts[-4], "split": path.parts[-2], "dataset": summary["dataset"].iloc[0]}
            yield kind, _table(path).assign(**place, experiment=folder.absolute().name)


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


def _named(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table with the plug-in and the printed name of each hasher."""
    if "plugin" not in table:
        table = table.assign(plugin=table["hasher"].map(plugin_of))
    return table.assign(method=[printed_name(*pair) for pair in zip(table["hasher"], table["plugin"], strict=True)])


def _with_slope(summary: "pd.DataFrame", options: Mapping[str, Mapping[str, Any]]) -> "pd.DataFrame":
    """Return the scores of the hashers with the options ``alpha``, the slope of tanh, and ``growth``, with both.

    In other hashers, an option alpha has another meaning, and there is no growth.
    """
    sloped = {hasher: values for hasher, values in options.items() if {"alpha", "growth"} <= set(values)}
    rows = summary[summary["hasher"].isin(sloped)]
    return rows.assign(**{name: [sloped[hasher][name] for hasher in rows["hasher"]] for name in ("alpha", "growth")})

"""The reader of an experiment's results, for the page and for the figures of a paper."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.provenance.checksums import verified
from protocol.report.results import Results
from protocol.scores.summary import at
from protocol.scores.tables import read_table

if TYPE_CHECKING:
    import pandas as pd


@contextlib.contextmanager
def reading(
    files: Mapping[str, Any],
    *,
    config: Mapping[str, Any],
    dimensions: Mapping[str, int | None],
) -> Iterator[Results]:
    """Open the results of an experiment as a context; images are read from their file when they are needed.

    Every file from another stage is verified before it is read.

    Parameters
    ----------
    files : mapping of str to path or paths
        ``content``, ``labels``, ``metrics``, ``summary``, ``audit``; lists: ``selection``, ``duplicates``, ``splits``,
        ``claims``, ``published``, ``published_recall`` (these three are empty unless the experiment is a reproduction),
        ``examples``, ``provenance`` (the files whose provenance is printed), ``models``, and ``times`` (Snakemake's
        benchmark files).
    config : mapping
        The checked configuration.
    dimensions : mapping of str to int or None
        The number of dimensions of each feature; None if it is not known.
    """
    import json

    import pandas as pd

    provenance = storage.read_provenance(files["content"])
    has_images = "images" in provenance["arrays"]
    with storage.streamed(files["content"], "images") if has_images else contextlib.nullcontext() as images:
        yield Results(
            config=config,
            provenance=provenance,
            items=storage.read(files["labels"]),
            images=images,
            summary=read_table(files["summary"]),
            run_scores=at(read_table(files["metrics"]), extension="none"),
            dimensions=dimensions,
            findings=read_table(files["audit"]),
            selection=next(map(read_table, files["selection"]), None),
            duplicates=next(map(read_table, files["duplicates"]), None),
            splits={Path(path).parents[1].name: storage.read(path) for path in files["splits"]},
            published=next(map(pd.read_csv, files["published"]), None),
            published_recall=next(map(pd.read_csv, files["published_recall"]), None),
            examples=read_examples(files["examples"]),
            times=times(files["times"]),
            libraries=_libraries([*files["provenance"], *files["models"]]),
            records={str(path): storage.read_provenance(path) for path in files["provenance"]},
            claims=next((json.loads(verified(path)) for path in files["claims"]), []),
        )


def _libraries(paths: Iterable[str | Path]) -> dict[str, dict[str, int]]:
    """Return the number of files that were made with each version, by library."""
    made: dict[str, dict[str, int]] = {}
    for path in dict.fromkeys(map(str, paths)):
        for library, version in storage.read_provenance(path)["versions"].items():
            by_version = made.setdefault(library, {})
            by_version[version] = by_version.get(version, 0) + 1
    return made


def read_examples(paths: Iterable[str | Path]) -> "dict[str, pd.DataFrame]":
    """Return the tables of the rule `examples` by name, with columns for the feature and the split in their paths.

    Parameters
    ----------
    paths : iterable of path
        ``.../{feature}/examples/{split}/{name}.csv``
    """
    import pandas as pd

    tables: dict[str, list[pd.DataFrame]] = {}
    for path in map(Path, paths):
        feature, split = path.parts[-4], path.parts[-2]
        tables.setdefault(path.stem, []).append(read_table(path).assign(feature=feature, split=split))
    # The columns of a table without rows have no type, and would make columns of numbers non-numeric in `concat`.
    filled = {name: [part for part in parts if len(part)] or parts[:1] for name, parts in tables.items()}
    return {name: pd.concat(parts, ignore_index=True) for name, parts in filled.items()}


def times(paths: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the time and memory of every job: ``stage`` (from the file name), ``seconds`` and ``megabytes``."""
    import pandas as pd

    rows = []
    for path in map(Path, paths):
        try:
            measured = pd.read_csv(path, sep="\t", na_values="-", usecols=["s", "max_rss"], dtype=float)
        except (OSError, ValueError) as error:  # Snakemake writes these files, without a checksum
            raise ProtocolError(
                f"{path}: this Snakemake benchmark file can't be read: {' '.join(str(error).split())}. Delete it and "
                "run again."
            ) from error
        rows += [{"stage": path.stem, "seconds": job.s, "megabytes": job.max_rss} for job in measured.itertuples()]
    return pd.DataFrame(rows, columns=["stage", "seconds", "megabytes"])

"""The stored tables of the leaderboard, gathered from the results of its experiments, and its page of the docs.

python docs/leaderboard.py results/leaderboard results/leaderboard_s2 results/leaderboard_unseen
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import pandas as pd

from protocol.comparison import Leaderboard, leaderboard
from protocol.counting import read_counts
from protocol.metrics.average_precision import average_precision
from protocol.provenance import storage
from protocol.report.figure import ABSENT, brackets
from protocol.scores.statistics import CONFIDENCE
from protocol.scores.tables import Table, read_table, read_text, write_table

FOLDER = Path(__file__).parents[1] / "results" / "reference" / "cifar10"
TABLES = ("summary.csv", "metrics.csv", "runs.csv")
SHOWN = 32  # bits of the table
N_GROUPS = 50  # of the queries of an experiment with a single run
_ABOVE = """\
# Leaderboard

All hashers on CIFAR-10 with GIST features, made by the pipeline alone. [Keep a
leaderboard](how-to/keep-a-leaderboard.md) describes how it is made, and how you add a method. cifar10_s1 and
cifar10_54k have ten runs, unseen_at_all five, and cifar10_s2 one, whose methods are compared over its queries. The data
come from a mirror: 20 of the 10,000 test images are decoded JPEG instead of the official pixels.

This command writes all scores and records as `leaderboard.html`, `leaderboard.csv` and `leaderboard.json`, from the
[summary](../results/reference/cifar10/summary.csv) and the tables next to it:

```sh
protocol compare results/reference/cifar10/summary.csv --leaderboard leaderboard.html
```
"""
TIMES = ("feature", "split", "run", "hasher", "n_bits", "training_seconds", "encoding_seconds")


def times(folder: Path) -> Iterator[list[Any]]:
    """Yield the CPU times of an experiment: a row for each split, run, hasher and code length."""
    for path in sorted((folder / "benchmarks").glob("*/*/run*/*/times.csv")):
        feature, sample, run, hasher, _ = path.relative_to(folder / "benchmarks").parts
        with h5py.File(folder / feature / sample / run / "ground_truth.h5") as truth:
            splits = sorted(truth)
        for split in splits:
            for row in read_text(path):
                seconds = (row["training_seconds"], row["encoding_seconds"])
                yield [feature, split, int(run.removeprefix("run")), hasher, int(row["n_bits"]), *map(float, seconds)]


def query_groups(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the mAP of equal groups of consecutive queries, for each combination of an experiment with a single run."""
    for path in sorted(folder.glob("*/counts/*.h5")):
        for stored in read_counts(path):
            combination = {"feature": path.parts[-3], "ground_truth": stored.ground_truth, "split": stored.split}
            combination |= {"hasher": path.stem, "n_bits": stored.n_bits, "metric": "mAP"}
            means = average_precision(stored.counts).reshape(N_GROUPS, -1).mean(axis=1)
            yield combination | {str(group): mean for group, mean in enumerate(means)}


def provenance(folder: Path) -> dict[str, Any]:
    """Return the features, notes, seeds (of run 0) and versions of an experiment, from the records of its files."""
    features: dict[str, Any] = {}
    seeds: dict[str, dict[str, int]] = {}
    notes, versions = dict[str, None](), dict[str, str]()
    for path in sorted(folder.glob("*/*/run*/*/codes.h5")):
        record = storage.read_provenance(path)
        features[record["inputs"]["features"]] = None
        if path.parts[-3] == "run0":
            seeds[path.parts[-2]] = {n_bits: fit["made_of"]["seed"] for n_bits, fit in record["fits"].items()}
        notes |= dict.fromkeys(record["notes"])
        versions |= record["versions"]
    for path in (folder.parent / "datasets").glob("*/*/features.h5"):
        record = storage.read_provenance(path)
        if record["digest"] in features:
            features[record["digest"]] = record["parameters"]
    return {"features": features, "notes": list(notes), "seeds": seeds, "versions": versions}


def gather(folders: Sequence[Path], target: Path = FOLDER) -> None:
    """Write the tables of several experiments, one after the other, and add them to provenance.json."""
    for name in TABLES:
        write_table(target / name, pd.concat([read_table(folder / name) for folder in folders]))
    single = [folder for folder in folders if set(read_table(folder / "runs.csv")["run"]) == {0}]
    if single:
        write_table(target / "query_groups.csv", pd.DataFrame(row for folder in single for row in query_groups(folder)))
    rows = [row for folder in folders for row in times(folder)]
    write_table(target / "times.csv", pd.DataFrame(rows, columns=[*TIMES]))
    record = target / "provenance.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    known |= {folder.name: provenance(folder) for folder in folders}
    record.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def page() -> str:
    """Return the page docs/leaderboard.md: what the leaderboard shows, and the places under each protocol."""
    if not (FOLDER / "summary.csv").exists():
        return f"{_ABOVE}\nThis checkout lacks the stored results.\n"
    with contextlib.chdir(FOLDER.parents[2]):
        board = leaderboard("results/reference/cifar10/summary.csv")
    return "\n\n".join([_ABOVE.rstrip(), *board.sentences, _table(board).markdown()])


def _table(board: Leaderboard) -> Table:
    """Return the place of each method under each protocol, with its mean and interval."""
    cells: dict[str, dict[str, str]] = {}
    for row in board.rows:
        if row["n_bits"] == SHOWN:
            parts = (f"{row['place'] or ABSENT}:", f"{row['mAP']:.3f}", brackets(row["low"], row["high"]))
            cells.setdefault(row["method"], {})[row["section"]] = " ".join(filter(None, parts))
    caption = (
        f"{SHOWN} bits: the place under each protocol, and mAP with its {CONFIDENCE:.0%} interval over several runs."
    )
    rows = [[method, *(of.get(section, ABSENT) for section in board.names)] for method, of in cells.items()]
    return Table("places", caption, ["method", *board.names.values()], rows)


if __name__ == "__main__":
    gather([Path(name) for name in sys.argv[1:]])

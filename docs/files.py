"""The page docs/reference/files.md: the files of a finished experiment and their content.

python docs/files.py results/digits

The arrays, their types and numbers of dimensions, and the columns of the tables are read from the files. An array or
column without a description below is an error.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py

from protocol import papers
from protocol.provenance import storage

PAGE = Path(__file__).parent / "reference" / "files.md"
_ABOVE = """\
# File formats

An experiment writes these files to `results/`. In their paths, `NAME` is the name of the experiment, `DATASET` the
name of the dataset, with a digest of its options if these are not the defaults, `R` the number of the run, and `LIST`
an official split of a dataset. `SAMPLE` is a sampled split: the queries, the validation sets and the training set of a
run, which split protocols share if they differ only in their database; `standard` and `improved` share `random`.

HDF5 files begin with 512 bytes that contain the SHA-256 of the rest (`tail -c +513 FILE | sha256sum`), and have two
attributes: `digest`, which depends only on the arrays and the provenance, and `provenance`, a JSON object:

- `maker`: the stage that made the file, such as `split improved`
- `parameters`: the options of that stage
- `inputs`: the digests of the files that it read
- `seed`: the seed of its random numbers, or null
- `versions`: the versions of Python and of the libraries
- `notes`: notes for readers of the results, including those of the inputs

The SHA-256 of a CSV or JSON file is in a file next to it (`sha256sum -c summary.csv.sha256`), with a line `# made with
seeds DIGEST, options DIGEST, code DIGEST` for the job of the file and all earlier jobs, which is compared before the
file is read ([results without a record](../how-to/rerun-a-stage.md#results-without-a-record)).

A file gets its name only when it is complete. [Train on our split](../how-to/train-on-our-split.md) reads splits in
five lines.
"""
_HDF5 = {
    "datasets/DATASET/items.h5": {
        "ids": "The name of each item, UTF-8, (n,).",
        "labels": "Class labels, (n,), or bool (n, n_classes) if an item may have several. Absent without labels.",
        "class_names": "The name of each class, UTF-8, (n_classes,).",
        "partitions/LIST": "Row numbers of an official split, if there are any.",
    },
    "datasets/DATASET/content.h5": {
        "images": "(n, height, width) or (n, height, width, 3). Absent for a dataset of vectors.",
        "vectors/LIST": "float32 (n, d), the vectors of the dataset, if there are any.",
    },
    "datasets/DATASET/FEATURE/features.h5": {
        "X": "The features of each item before preprocessing, (n, d). Some features have several rows for an item.",
        "image": "For each row of `X`, the row number of its item.",
    },
    "NAME/samples/SAMPLE/runR.h5": {
        "query": "Row numbers of the test queries, ascending.",
        "train": "Row numbers of the training set.",
        "validation_query": "Row numbers of the validation queries; empty if the protocol has none.",
        "validation_database": "Row numbers of the validation database; empty if the protocol has none.",
    },
    "NAME/splits/SPLIT/runR/splits.h5": {
        "database": "Row numbers of the items that are ranked for each query, ascending.",
        "query|train|validation_query|validation_database": "As in the sampled split.",
    },
    "NAME/FEATURE/SAMPLE/runR/preprocessing.h5": {
        "mean": "The mean of the training set, (d,), if it is subtracted.",
        "model/vocabulary": "The visual words of `bow`, fitted on the training set.",
    },
    "NAME/FEATURE/SAMPLE/runR/ground_truth.h5": {
        "SPLIT/GROUND_TRUTH/query_labels": "The labels of the queries (ground truths by labels).",
        "SPLIT/GROUND_TRUTH/database_labels": "The labels of the database.",
        "SPLIT/GROUND_TRUTH/indptr": "The position in `indices` at which each query begins, (n_queries + 1,).",
        "SPLIT/GROUND_TRUTH/indices": "Positions of the relevant items in the database, query by query.",
        "SPLIT/GROUND_TRUTH/radius": "The radius of `epsilon_ball`, (1,).",
    },
    "NAME/FEATURE/SAMPLE/runR/HASHER/models.h5": {
        "N_BITS/model": "The hasher's class, options and record of the fit, as JSON.",
        "N_BITS/LEARNED": "Each learned array of the hasher. Its name ends in `_`.",
    },
    "NAME/FEATURE/SAMPLE/runR/HASHER/codes.h5": {
        "N_BITS/query": "Packed codes of the queries, (n_queries, n_bytes); the first bit has weight 1.",
        "N_BITS/items": "Packed codes of all items of the dataset, from which each split takes its database.",
        "image": "For each row of `items`, the row number of its item.",
        "query_image": "For each row of `query`, the row number of its item. A split may score some of the queries.",
    },
    "NAME/FEATURE/counts/HASHER.h5": {
        "SPLIT/runR/N_BITS/retrieved": "Items at each Hamming distance, (n_queries, n_bits + 1).",
        "SPLIT/runR/N_BITS/bucket_sizes": "The sizes of the buckets of the database, descending.",
        "SPLIT/runR/N_BITS/largest_bucket": "The largest bucket within each radius, (n_queries, n_bits + 1).",
        "SPLIT/runR/N_BITS/GROUND_TRUTH/levels": "The levels of relevance, ascending.",
        "SPLIT/runR/N_BITS/GROUND_TRUTH/at_level": "Items of each level at each distance, "
        "(n_queries, n_levels, n_bits + 1).",
        "SPLIT/runR/N_BITS/GROUND_TRUTH/index_precisions": "The sums of the precisions at the ranks of the relevant "
        "items at each distance, in database order, (n_queries, n_bits + 1).",
        "SPLIT/runR/N_BITS/GROUND_TRUTH/index_top": "The rank of the first relevant item in database order, and the "
        "number and sum of precisions of the relevant items up to rank R, (n_queries, 3).",
        "SPLIT/runR/N_BITS/GROUND_TRUTH/index_discounts": "The sums of 1 / log2(1 + rank) of the items of each level, "
        "in database order, (n_queries, n_levels).",
    },
}
_PATTERNS = {"N_BITS": r"\d+", "LEARNED": r"\w+_(?:/[\w.]+)?"}
_NOTES = {
    "counts/HASHER.h5": "Counts have the smallest unsigned type that can represent them. They are for plain codes; the "
    "counts of extension codes follow from them (`HammingCounts.extended`)."
}
_TABLES = {
    "metrics.csv": "One row for each value.",
    "summary.csv": "One row for each mean over runs, with the conventions and sizes that identify it.",
    "runs.csv": "A digest of the queries, database and ground truth of each run, which serves to pair the runs of two "
    "experiments.",
    "audit.csv": "The findings of the audit.",
    "claims.json": "Only with `reproduction: true`: a list with an object for each claim of the papers.",
}
_COLUMNS = {
    "dataset": "Names from the config file.",
    "feature": "Names from the config file.",
    "ground_truth": "Names from the config file.",
    "split": "Names from the config file.",
    "run": "Number of the run, from 0.",
    "hasher": "Names from the config file.",
    "n_bits": "",
    "extension": "Kind of extension code: `none`, `same` or `different`.",
    "extension_bits": "Number of bits by which the code is extended.",
    "metric": "Names from the config file.",
    "value": "Mean of the metric over the queries, nine digits.",
    "mean": "Mean over the runs.",
    "std": "Sample standard deviation over the runs; empty for one run.",
    "n_runs": "",
    "relevance": "Kind of ground truth, such as `class labels` or `neighbours`.",
    "n_queries": "Number of queries, without excluded ones.",
    "n_database": "",
    "excluded_queries": "Number of the queries that the key `exclude_queries` left out of the scores, and the start of "
    "their SHA-256, or `none`.",
    "options": "Digests of the options of dataset, ground truth and split that are not the defaults, and, as `mirror`, "
    "of the dataset's files that are not the official ones.",
    "undefined": "How an undefined value counts: `zero` or `drop`.",
    "ties": "How tied items are treated.",
    "supervision": "What the method learned from in addition to the training vectors: `none`, `labels`, the labels of "
    "a file, `pairs` or the distances of a feature; `unknown` for precomputed codes.",
    "ranking": "How the database is ranked, such as `hamming`.",
    "convention": "",
    "version": "",
    "items": "Digest of the queries, the database and the ground truth of the run.",
    "file": "The file to which the finding refers.",
    "finding": "Name of the [finding](findings.md).",
    "severity": "`error`, `undetermined`, `warning` or `information`.",
    "count": "Number of items concerned.",
    "examples": "Some of these items.",
    "consequence": "",
    "fix": "",
    "treatment": "How the papers treat it.",
    "id": "Id of the claim.",
    "paper": "",
    "place": "Section, equation, table or figure.",
    "claim": "The claim in one sentence.",
    "expected": "The value that the paper prints, with the tolerance.",
    "ours": "The value computed here.",
    "status": "The status, see [What the papers claim](../explanation/claims-of-the-papers.md).",
    "parts": "Number of parts of the claim that hold.",
    "reproduce": "The commands that reproduce it, in a checkout, or what is needed instead.",
    "note": "How the value was computed, and the reason for a difference.",
}
_OTHERS = {
    "`NAME/report.html`": "The report, one page that opens offline.",
    "`NAME/figures/`, `NAME/tables/`": "Only with the target `paper`: "
    "[figures and tables for a paper](../how-to/figures-and-tables.md).",
    "`NAME/selection.csv`": "Only with `hasher_grids`: the validation score of each combination, and the choice.",
    "`NAME/excluded.csv`": "Only with the key `exclude_queries`: the position of each excluded query in the list of "
    "queries, with its row number and id, by split and run.",
    "`NAME/duplicates.csv`": "Only for CIFAR-10 and CIFAR-100: every metric with all queries, and without those "
    "that have a judged near-duplicate.",
    "`NAME/leak/`, `NAME/leak.csv`, `NAME/leak_summary.csv`, `NAME/leak.md`": "Only with the key `leak`: the "
    "[leak study](../explanation/split-protocols.md).",
    "`NAME/FEATURE/SAMPLE/runR/labels.h5`, `affinities.h5`": "Only for supervised hashers: the labels or affinities of "
    "the training set.",
    "`NAME/logs/`, `NAME/benchmarks/`": "The output of the jobs; their time and memory.",
    "`downloads/`": "The downloaded files, each with its provenance.",
}


def page(experiment: Path) -> str:
    """Return the page for the files of a finished experiment, such as results/digits."""
    results, described = experiment.parent, set[str]()
    parts = [_ABOVE, *(_hdf5(results, experiment.name, name) for name in _HDF5)]
    parts += [_table(experiment, name, described) for name in _TABLES]
    others = "\n".join(f"- {file}: {content}" for file, content in _OTHERS.items())
    return "\n".join([*parts, f"## Other files\n\n{others}\n"])


def _hdf5(results: Path, experiment: str, name: str) -> str:
    """Return the section of a kind of HDF5 file: each array with its type, dimensions and description."""
    forms: dict[str, set[str]] = {array: set() for array in _HDF5[name]}
    pattern = name.replace("NAME", experiment).replace("runR", "run*")
    for path in results.glob(re.sub(r"\b[A-Z]{4,}\b", "*", pattern)):
        _check_provenance(path)
        for array, form in _arrays(path):
            forms[_described(array, _HDF5[name], path)].add(form)
    lines = []
    for array, of_array in forms.items():
        form = "; ".join(sorted(of_array)) or "not in this experiment"
        lines.append(f"- {_names(array)} ({form}): {_HDF5[name][array]}")
    note = [f"{text}\n" for file, text in _NOTES.items() if name.endswith(file)]
    return "\n".join([f"## `{name}`\n", *note, *lines, ""])


def _names(alternatives: str) -> str:
    return ", ".join(f"`{name}`" for name in alternatives.split("|"))


def _check_provenance(path: Path) -> None:
    """Raise SystemExit if a provenance record lacks a key that the page describes."""
    described = re.findall(r"^- `(\w+)`:", _ABOVE, re.MULTILINE)
    missing = set(described) - storage.read_provenance(path).keys()
    if missing:
        raise SystemExit(f"{path}: provenance: needs the keys {described}; {missing} is missing")


def _arrays(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each array of a file, and its type and number of dimensions."""
    with h5py.File(path) as file:
        names: list[str] = []
        file.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
        for name in names:
            array = file[name]
            yield name, f"{'bytes' if array.dtype.kind == 'S' else array.dtype}, {array.ndim}-d"


def _described(array: str, described: Mapping[str, str], path: Path) -> str:
    """Return the pattern, among those with a description, that an array has."""
    for pattern in described:
        if re.fullmatch(re.sub(r"[A-Z_]{4,}|runR", lambda part: _PATTERNS.get(part[0], r"\w+"), pattern), array):
            return pattern
    raise SystemExit(f"{path}: array {array!r} has no description in {__file__}")


def _table(experiment: Path, name: str, described: set[str]) -> str:
    """Return the section of a table: each column with its description, unless an earlier table or its name has it."""
    if name == "claims.json":  # only a reproduction writes it
        columns = list(papers.FIELDS)
    else:
        columns = next(csv.reader((experiment / name).read_text().splitlines()))
    alike: dict[str, list[str]] = {}  # the columns by their description
    for column in columns:
        alike.setdefault("As above." if column in described else _COLUMNS[column], []).append(f"`{column}`")
    lines = [f"- {', '.join(names)}{text and f': {text}'}" for text, names in alike.items()]
    described.update(columns)
    return "\n".join([f"## `NAME/{name}`\n", f"{_TABLES[name]}\n", *lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])))

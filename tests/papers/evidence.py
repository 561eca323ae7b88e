"""Rows of tables that experiments write, as `evidence.yaml` describes them, and the verdicts on them."""

import csv
import itertools
from pathlib import Path

import yaml

from protocol import papers
from protocol.papers.claims import leaves
from protocol.scores.summary import COMBINATION

SUMMARY = [*COMBINATION, "mean", "std", "n_runs", "n_queries", "n_database"]
_VALUES = ["cifar10", "gist", "class_label", "standard", "lsh", 12, "none", 0, "mAP", 0.1, 0.01, 10, 1000, 59_000]
USUAL = dict(zip(SUMMARY, _VALUES, strict=True))
COUNTED = ["dataset", "statistic", "value", "standard_error", "n_runs", "n_queries", "n_database"]
EVIDENCE = yaml.safe_load((Path(__file__).parent / "evidence.yaml").read_text())
CLAIMS = {claim.id: claim for claim in papers.all_claims()}


def rows_of(block, usual=USUAL):
    """Return the rows that a block, or a list of blocks, stands for."""
    if isinstance(block, list):
        return [row for part in block for row in rows_of(part, usual)]
    if "read" in block:
        return read_by(block["read"])
    if "of" in block:
        return changed(rows_of(block["of"], usual), **{name: value for name, value in block.items() if name != "of"})
    number = "value" if "value" in block else "mean"
    columns = {name: value if isinstance(value, list) else [value] for name, value in block.items() if name != number}
    rows = [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())]
    numbers = list(leaves(block.get(number, 0.1)))
    rows = [row | {number: numbers[i * len(numbers) // len(rows)]} for i, row in enumerate(rows)]
    return [row | {"statistic": row["statistic"].format(**row)} if "statistic" in row else usual | row for row in rows]


def changed(rows, *, where=None, set=None, add=0, digits=17, without=None):  # noqa: A002 - the keys of evidence.yaml
    """Return rows with changes, as `evidence.yaml` describes them."""
    rows = [row for row in rows if not (without and fits(row, without))]
    rows = [row | (set or {}) if fits(row, where or {}) else row for row in rows]
    names = ("mean", "value")
    return [row | {name: float(f"{row[name] + add:.{digits}g}") for name in names if name in row} for row in rows]


def fits(row, columns):
    return all(row[name] in value if isinstance(value, list) else row[name] == value for name, value in columns.items())


def read_by(number, off=0.0):
    """Return rows with the expected values, moved, of a claim that only reads statistics, or means by code length."""
    claim, rows = CLAIMS[number], []
    for name, (dataset, *statistics) in claim.statistics.items():
        rows += rows_of({"dataset": dataset, "statistic": statistics, "value": claim.expected[name]})
    for table in claim.compare:
        where = {name: value[0] if isinstance(value, list) else value for name, value in table["rows"].items()}
        for hasher, method in table["rename"]["hasher"].items():
            (name,) = (text.format(hasher=method) for text in table["values"])
            if name in claim.expected:
                columns = {"hasher": hasher, "n_bits": table["rows"]["n_bits"], "mean": claim.expected[name]}
                rows += rows_of(where | columns)
    return changed(rows, add=off)


def cases():
    """Return, by claim, rows under which every part of it holds, and rows under which none does."""
    for number, claim in CLAIMS.items():
        if number in EVIDENCE["decided"]:
            yield number, *map(rows_of, EVIDENCE["decided"][number].values())
        elif not claim.test:
            yield number, read_by(number), read_by(number, 10 if claim.statistics else -0.1)


def judged(folder, number, *tables):
    """Judge one claim on the rows of one or more summaries, and on statistics among them."""
    paths = []
    for place, rows in enumerate(tables):
        scored = [row for row in rows if "statistic" not in row]
        paths.append(write_summary(folder / f"{place}" / "summary.csv", scored))
        counted = [[row.get(name, "") for name in COUNTED] for row in rows if "statistic" in row]
        paths.append(write(folder / f"{place}" / "counted.csv", COUNTED, counted))
    return CLAIMS[number].judge(papers.Results(paths))


def write_summary(path, rows):
    return write(path, SUMMARY, [[(USUAL | row)[name] for name in SUMMARY] for row in rows])


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path

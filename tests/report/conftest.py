"""A small synthetic experiment with everything that the report reads, made by the functions that the pipeline calls."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from protocol import codes, metrics
from protocol.counting import StoredCounts, count
from protocol.report import examples, page
from protocol.report.results import Results
from protocol.scores.summary import COLUMNS, ITEMS, summarise
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

N, LENGTHS, HASHERS, SPLITS = 90, (4, 8), ("lsh", "itq"), ("standard", "improved")
METRICS = ["mAP", "mAP[best]", "mAP[worst]", "precision@r2", "recall@r2", "RAMAP@r2", "empty@r2", "utilisation"]
METRICS += ["P@5", "R@10", "R@20"]
CONFIG = {
    "codes": {},
    "hasher_bases": {},
    "ground_truth_bases": {},
    "affinities": None,
    "experiment": "made",
    "dataset": "digits",
    "seed": 0,
    "reproduction": True,
    "undefined": "zero",
    "features": {"gist": {"options": {}, "preprocessing": ["centre"]}},
    "ground_truths": ["class_label", "nearest_neighbours"],
    "ground_truth_options": {"class_label": {}, "nearest_neighbours": {"n_neighbours": 5}},
    "splits": list(SPLITS),
    "hashers": list(HASHERS),
    "n_bits": list(LENGTHS),
    "metrics": METRICS,
    "names": {
        "dataset": "digits",
        "features": {"gist": "gist"},
        "ground_truths": {name: name for name in ("class_label", "nearest_neighbours")},
        "splits": {name: name for name in SPLITS},
        "hashers": {name: name for name in HASHERS},
    },
}
EXTENSIONS = (("none", 0), ("same", 1), ("different", 1))


RUNS = 2
PUBLISHED = {"dataset": "digits", "feature": "gist", "ground_truth": "class_label", "split": "standard"}
PUBLISHED |= {"hasher": "itq", "metric": "mAP", "n_bits": 8, "value": 0.5, "source": "A paper", "protocol": "its own"}
FINDING = {"file": "a/splits.h5", "finding": "train-in-database", "severity": "warning", "count": 30}
FINDING |= {"examples": "1, 2", "consequence": "Learned from ranked items.", "fix": "", "treatment": ""}


def codes_of(labels, n_bits, run, noise):
    """Return codes that follow the labels."""
    bits = (labels[:, None] >> (np.arange(n_bits) % 3)) & 1
    return codes.pack(bits ^ (np.random.default_rng([n_bits, run]).random((N, n_bits)) < noise))


def experiment(labels):
    """Return the scores of all runs, the tables of `examples` and the parts of each split; itq's codes are better."""
    rows, shown, splits = [], {}, {}
    for split, start in zip(SPLITS, (10, 30), strict=True):
        parts = {"query": np.arange(10), "database": np.arange(start, N), "train": np.arange(30)}
        query, database = parts["query"], parts["database"]
        near = np.sort(np.random.default_rng(7).permuted(np.tile(np.arange(database.size), (10, 1)), axis=1)[:, :5])
        truths = {
            "class_label": LabelRelevance(labels[query], labels[database]),
            "nearest_neighbours": NeighbourRelevance(np.arange(0, 51, 5), near.ravel(), database.size),
        }
        radii, curves, first_codes = [], [], {hasher: {} for hasher in HASHERS}
        for run, (noise, hasher) in itertools.product(range(RUNS), zip((0.45, 0.1), HASHERS, strict=True)):
            for n_bits in LENGTHS:
                packed = codes_of(labels, n_bits, run, noise)
                pair = {"query": packed[query], "database": packed[database]}
                first_codes[hasher].setdefault(n_bits, pair)
                counts = count(pair["query"], pair["database"], n_bits, truths)
                for truth, plain in counts.items():
                    items = (truths[truth].kind, plain.n_queries, plain.n_database, f"{split} {run}")
                    for extension, s in EXTENSIONS:
                        combination = ("digits", "gist", truth, split, run, hasher, n_bits, extension, s)
                        scores = metrics.evaluate(plain.extended(extension, s), METRICS)
                        rows += [(*combination, name, *items, metrics.mean(values)) for name, values in scores.items()]
                    stored = StoredCounts(split, run, n_bits, truth, items[0], items[3], plain)
                    radii += [{"hasher": hasher} | row for row in examples.radius_rows(stored, undefined="zero")]
                    curves += [{"hasher": hasher} | row for row in examples.curve_rows(stored, undefined="zero")]
        tables = examples.of_run(first_codes, truths, parts, LENGTHS)
        tables |= {"radii": examples.mean_over_runs(radii), "curves": examples.mean_over_runs(curves)}
        tables = {name: pd.DataFrame(rows, columns=examples.COLUMNS[name]) for name, rows in tables.items()}
        for name, table in tables.items():
            shown.setdefault(name, []).append(table.assign(feature="gist", split=split))
        splits[split] = parts
    scores = pd.DataFrame(rows, columns=[*COLUMNS[:-1], *ITEMS, "value"])
    return scores, {name: pd.concat(tables, ignore_index=True) for name, tables in shown.items()}, splits


@pytest.fixture(scope="session")
def results():
    """Return the results of two runs, two hashers, two lengths, two ground truths, two splits, with images."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, N)
    scores, shown, splits = experiment(labels)
    needed = scores["metric"].isin(["mAP", "recall@r2"]) | (scores["ground_truth"] == "nearest_neighbours")
    record = {"maker": "dataset digits", "seed": None, "inputs": {}, "parameters": {}, "digest": "0" * 64}
    record |= {"versions": {"numpy": "2"}}
    return Results(
        config=CONFIG,
        provenance=record | {"notes": ["<made> & small"], "arrays": {"images": [N, 8, 8]}},
        items={
            "ids": np.array([f"i{i}".encode() for i in range(N)]),
            "labels": labels,
            "class_names": np.array([b"cat", b"dog", b"emu"]),
        },
        images=rng.integers(0, 256, (N, 8, 8), dtype=np.uint8),
        summary=summarise(scores),
        run_scores=scores[(scores["extension"] == "none") & needed],
        unhashed=scores[:0],
        findings=pd.DataFrame([FINDING]),
        selection=None,
        duplicates=None,
        splits=splits,
        published=pd.DataFrame([PUBLISHED | {"provenance": "read"}]),
        examples=shown,
        libraries={"numpy": {"2": 7}},
        claims=[],
    )


@pytest.fixture(scope="session")
def html(results):
    """Return the page of the results."""
    return page(results)


@pytest.fixture(scope="session")
def bare(results):
    """Return the results of a dataset of vectors without labels: one hasher, length, run, split; plain codes only."""
    keep = {"hasher": "itq", "n_bits": 8, "ground_truth": "nearest_neighbours", "split": "standard"}

    def kept(table):
        for column, value in keep.items():
            table = table[table[column] == value] if column in table else table
        return table[table["extension"] == "none"] if "extension" in table else table

    config = CONFIG | {"ground_truths": ["nearest_neighbours"], "splits": ["standard"], "hashers": ["itq"]}
    return dataclasses.replace(
        results,
        config=config | {"n_bits": [8], "metrics": ["precision@r2"], "reproduction": False},
        published=None,
        provenance=results.provenance | {"arrays": {"vectors/x": [N, 4]}, "notes": []},
        items={"ids": results.items["ids"], "class_names": np.array([], dtype="S1")},
        images=None,
        summary=kept(results.summary[results.summary["metric"] == "precision@r2"]).assign(std=np.nan, n_runs=1),
        run_scores=kept(results.run_scores[results.run_scores["metric"] == "precision@r2"]),
        findings=results.findings[:0],
        splits={"standard": results.splits["standard"]},
        examples={name: kept(table) for name, table in results.examples.items()}
        | {"histogram": kept(results.examples["histogram"])[:0]},
    )

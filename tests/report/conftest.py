"""A small synthetic experiment with everything that the report reads, made by the functions that the pipeline calls."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from protocol import codes, metrics
from protocol.counting import StoredCounts, count
from protocol.report import display as displaying
from protocol.report.results import Results
from protocol.scores.summary import COLUMNS, ITEMS, summarise
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

N, LENGTHS, HASHERS, SPLITS = 90, (4, 8), ("lsh", "itq"), ("standard", "improved")
METRICS = ["mAP", "mAP[best]", "mAP[worst]", "precision@r2", "recall@r2", "RAMAP@r2", "empty@r2", "utilisation"]
METRICS += ["P@5", "R@10", "R@20"]
CONFIG = {
    "codes": {},
    "hasher_uses": {},
    "ground_truth_uses": {},
    "affinities": None,
    "experiment": "made",
    "dataset": "digits",
    "seed": 0,
    "reproduction": True,
    "empty": "zero",
    "features": {"gist": {"options": {}, "preprocessing": ["centre"]}},
    "ground_truths": ["class_label", "nearest_neighbours"],
    "ground_truth_options": {"class_label": {}, "nearest_neighbours": {"n_neighbours": 5}},
    "splits": list(SPLITS),
    "hashers": list(HASHERS),
    "n_bits": list(LENGTHS),
    "metrics": METRICS,
}
EXTENSIONS = (("none", 0), ("same", 1), ("different", 1))


def made(labels, runs=2):
    """Return the summary, the scores of all runs and the tables of `display`.

    Codes follow the labels, itq's more than lsh's.
    """
    rows, displayed = [], {}
    for split in SPLITS:
        parts = {
            "query": np.arange(10),
            "database": np.arange(10 if split == "standard" else 30, N),
            "train": np.arange(30),
        }
        query, database = parts["query"], parts["database"]
        near = np.sort(np.random.default_rng(7).permuted(np.tile(np.arange(database.size), (10, 1)), axis=1)[:, :5])
        truths = {
            "class_label": LabelRelevance(labels[query], labels[database]),
            "nearest_neighbours": NeighbourRelevance(np.arange(0, 51, 5), near.ravel(), database.size),
        }
        radii, curves, codes_of = [], [], {}
        for run in range(runs):
            for noise, hasher in zip((0.45, 0.1), HASHERS, strict=True):
                pairs, extended = {}, []
                for n_bits in LENGTHS:
                    rng = np.random.default_rng([n_bits, run])
                    bits = (labels[:, None] >> (np.arange(n_bits) % 3)) & 1
                    packed = codes.pack(bits ^ (rng.random((N, n_bits)) < noise))
                    pair = {"query": packed[query], "database": packed[database]}
                    pairs[n_bits] = pair
                    for extension, s in EXTENSIONS:
                        for truth, counted in count(pair["query"], pair["database"], n_bits, truths).items():
                            own = counted.extended(extension, s)
                            cell = ("digits", "gist", truth, split, run, hasher, n_bits, extension, s)
                            scores = metrics.evaluate(own, METRICS)
                            items = (truths[truth].kind, own.n_queries, own.n_database, f"{split} {run}")
                            rows += [(*cell, name, *items, metrics.mean(values)) for name, values in scores.items()]
                            extended.append(StoredCounts(split, n_bits, extension, s, truth, items[0], items[3], own))
                plain = [one for one in extended if one.extension == "none"]
                of_hasher = list(displaying.radius_rows(plain, empty="zero"))
                if hasher == "lsh":
                    of_hasher += displaying.extension_rows(extended, min(LENGTHS), empty="zero")
                radii += [{"hasher": hasher} | row for row in of_hasher]
                curves += [{"hasher": hasher} | row for row in displaying.curve_rows(plain, empty="zero")]
                if run == 0:
                    codes_of[hasher] = pairs
        of_run = displaying.of_run(codes_of, truths, parts, LENGTHS)
        of_runs = {"radii": displaying.mean_over_runs(radii), "curves": displaying.mean_over_runs(curves)}
        for name, table in (of_run | of_runs).items():
            displayed.setdefault(name, []).append(table.assign(feature="gist", split=split))
    scores = pd.DataFrame(rows, columns=[*COLUMNS[:-1], *ITEMS, "value"])
    return (
        summarise(scores),
        scores,
        {name: pd.concat(tables, ignore_index=True) for name, tables in displayed.items()},
        parts,
    )


@pytest.fixture(scope="session")
def results():
    """Return the results of two runs, two hashers, two lengths, two ground truths, two splits, with images."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, N)
    summary, scores, displayed, parts = made(labels)
    needed = (scores["metric"] == "mAP") | (scores["ground_truth"] == "nearest_neighbours")
    provenance = {"maker": "dataset digits", "seed": None, "inputs": {}, "parameters": {}, "digest": "0" * 64}
    return Results(
        config=CONFIG,
        provenance=provenance
        | {"versions": {"numpy": "2"}, "notes": ["<made> & small"], "arrays": {"images": [N, 8, 8]}},
        items={
            "ids": np.array([f"i{i}".encode() for i in range(N)]),
            "labels": labels,
            "class_names": np.array([b"cat", b"dog", b"emu"]),
        },
        images=rng.integers(0, 256, (N, 8, 8), dtype=np.uint8),
        summary=summary,
        run_scores=scores[(scores["extension"] == "none") & needed],
        dimensions={"gist": 16},
        findings=pd.DataFrame(
            [["a/splits.h5", "train-in-database", "warning", 30, "1 2", "Learned from ranked items."]],
            columns=["file", "finding", "severity", "count", "examples", "consequence"],
        ),
        selection=None,
        duplicates=None,
        splits=dict.fromkeys(SPLITS, parts),
        published=pd.DataFrame(
            [["digits", "gist", "class_label", "standard", "itq", "mAP", 8, 0.5, "A paper", "its own", "read"]],
            columns=[
                "dataset",
                "feature",
                "ground_truth",
                "split",
                "hasher",
                "metric",
                "n_bits",
                "value",
                "source",
                "protocol",
                "provenance",
            ],
        ),
        published_losses=pd.DataFrame(
            [["A page", "made", "its own", 32, "sign", 32, "neighbours@10", 2.0, 0.5, "read"]],
            columns=[
                "source",
                "data",
                "vectors",
                "dimensions",
                "method",
                "n_bits",
                "metric",
                "rescoring",
                "value",
                "provenance",
            ],
        ),
        displayed=displayed,
        times=pd.DataFrame([["codes", 2.0, 50.0], ["counts", 1.0, 60.0]], columns=["stage", "seconds", "megabytes"]),
        libraries={"numpy": {"2": 7}},
        records={"results/made/content.h5": provenance | {"versions": {"numpy": "2"}}},
        claims=[],
    )


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
        published_losses=None,
        provenance=results.provenance | {"arrays": {"vectors/x": [N, 4]}, "notes": []},
        items={"ids": results.items["ids"], "class_names": np.array([], dtype="S1")},
        images=None,
        summary=kept(results.summary[results.summary["metric"] == "precision@r2"]).assign(std=np.nan, n_runs=1),
        run_scores=kept(results.run_scores[results.run_scores["metric"] == "precision@r2"]),
        findings=results.findings[:0],
        splits={"standard": results.splits["standard"]},
        displayed={name: kept(table) for name, table in results.displayed.items()}
        | {"histogram": kept(results.displayed["histogram"])[:0]},
        times=results.times[:0],
    )

"""Write ``results/reference/cross_modal/``: cross-modal retrieval on Wiki, with random codes and a real-valued ranking.

Run by hand: `python tests/reference/cross_modal_table.py FOLDER`, with the folder of Wiki's three files. It takes five
minutes on one core. Splits, seeds and preprocessing are those of workflow/config/wiki_cross.yaml.
"""

import functools
import itertools
import sys
from pathlib import Path
from typing import Any

import runs  # isort: skip - before NumPy
import numpy as np
import pages
import pandas as pd
from runs import Run

from protocol.counting import HammingCounts
from protocol.hashers.cross_modal.base import canonical_directions
from protocol.metrics import evaluate, mean
from protocol.provenance.storage import array_digest

FOLDER = pages.REFERENCE / "cross_modal"
EXPERIMENT = "wiki_cross"
CONFIG = runs.experiment(EXPERIMENT).config
RANDOM, COSINE = "random codes", "CCA, cosine"
KEY = ["split", "direction", "ranking", "n_bits"]
Cell = tuple[str, str, str, int | None]


@functools.lru_cache(maxsize=20)
def run(split: str, direction: str, number: int, files: Path) -> Run:
    return Run(EXPERIMENT, number, feature=direction, split=split, files=files)


def mean_average_precision(cell: Cell, number: int, files: Path) -> float:
    """Return the mAP of one run, as the expected value over ties, by a hasher's codes or a baseline."""
    split, direction, ranking, n_bits = cell
    of = run(split, direction, number, files)
    if ranking == COSINE:
        return cosine(of)
    if ranking != RANDOM:
        return mean(of.scores(of.fit(ranking, n_bits)[0], ["mAP"])["mAP"])
    rng = np.random.default_rng(of.seed(direction, ranking, n_bits, number))
    bits = tuple(rng.random((len(of.items[part].X), n_bits)) < 0.5 for part in ("query", "database"))
    return mean(of.scores_of(bits, ["mAP"], of.relevance("class_label", "query", "database"))["mAP"])


def cosine(of: Run) -> float:
    """Return the mAP of a ranking without codes: by the cosine of canonical variates, weighted by correlation."""
    training, relevance = of.training("pairs"), of.relevance("class_label", "query", "database")
    n_directions = min(training.X.shape[1], training.pairs.shape[1])
    canonical = canonical_directions(training.X, training.pairs, n_directions, regularisation=0.01)
    unit = []
    for part, directions in (("query", canonical.x), ("database", canonical.y)):
        variates = of.items[part].X @ (directions * canonical.correlations)
        unit.append(variates / np.linalg.norm(variates, axis=1, keepdims=True))
    similarity = unit[0] @ unit[1].T
    relevant = np.zeros(similarity.shape, dtype=bool)
    for query, row in enumerate(relevant):
        row[relevance.row(query)[0]] = True
    values = []
    for row, is_relevant in zip(similarity, relevant, strict=True):
        _, rank = np.unique(-row, return_inverse=True)  # items of equal similarity are tied, as at one Hamming distance
        counts = HammingCounts.from_histograms([np.bincount(rank)], [np.bincount(rank, weights=is_relevant)])
        values.append(evaluate(counts, ["mAP"])["mAP"])
    return float(np.mean(values))


def cells() -> list[Cell]:
    lengths: list[tuple[str, int | None]] = list(itertools.product((RANDOM, *CONFIG["hashers"]), CONFIG["n_bits"]))
    parts = itertools.product(CONFIG["splits"], CONFIG["features"])
    return [(*part, *length) for part in parts for length in (*lengths, (COSINE, None))]


def table() -> dict[Cell, dict[str, float]]:
    """Return the committed table: statistics by (split, direction, ranking, n_bits)."""
    (stored,) = pages.read("cross_modal", "wiki", dtype={"n_bits": "Int64"})
    keys = [tuple(None if value is pd.NA else value for value in key) for key in stored[KEY].itertuples(index=False)]
    return dict(zip(keys, stored.drop(columns=KEY).to_dict("records"), strict=True))


def page(scores: pd.DataFrame, **provenance: Any) -> str:
    """Return the page, computed from the table before it is rounded."""
    parts: dict[tuple, Any] = {}
    for key, part in scores.groupby(["split", "direction"], sort=False):
        codes = pages.grid(part.dropna(), "ranking", "n_bits", "{mean:.4f} ± {std:.4f}", head="{} bits")
        parts[key] = codes, part.iloc[-1].to_dict()
    sizes = ", ".join(f"{part} {size}" for part, size in CONFIG["split_sizes"].items())
    return pages.render("cross_modal", parts=parts, sizes=sizes, **provenance)


def main(folder: str) -> None:
    files = Path(folder)
    score = functools.partial(mean_average_precision, files=files)
    _, scores = runs.repeated(cells(), KEY, score, CONFIG["runs"])
    scores = scores.astype({"n_bits": "Int64"})
    pages.write(scores, FOLDER / "wiki.csv", "%.6f")
    raw = runs.source(EXPERIMENT, "image_to_text", files).raw
    vectors = {"image": array_digest(raw["X"]), "text": array_digest(raw["database/X"])}
    versions = runs.versions("numpy", "scikit-learn", "scipy", "hashing-protocol")
    pages.store("cross_modal", page(scores, vectors=vectors, versions=versions))


if __name__ == "__main__":
    main(*sys.argv[1:])

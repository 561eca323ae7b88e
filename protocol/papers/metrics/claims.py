"""Claims of *Evaluation metrics* (mAP@p, nDCG@p)."""

import re
from typing import Any

import numpy as np

from protocol import codes
from protocol.papers.claim import Evidence, Values
from protocol.papers.results import Results, Row
from protocol.scores.summary import COMBINATION


def distance_and_cosine() -> Values:
    """Compare random codes of 1, 12 and 64 bits."""
    apart = []
    for n_bits in (1, 12, 64):
        bits = np.random.default_rng(n_bits).random((2, 9, n_bits)) < 0.5
        query, database = np.where(bits, 1.0, -1.0) / np.sqrt(n_bits)
        distances = codes.hamming_distance(codes.pack(bits[0]), codes.pack(bits[1]))
        from_distance = n_bits / 4 * ((query[:, None] - database) ** 2).sum(axis=2)
        from_cosine = n_bits / 2 * (1 - query @ database.T)
        apart.append([np.abs(distances - expected).max() for expected in (from_distance, from_cosine)])
    largest = np.max(apart, axis=0)
    return {"largest difference, distance": largest[0], "largest difference, cosine": largest[1]}


def top_of_the_ranking(results: Results) -> Evidence:
    """Compare every mean of mAP@p[retrieved] with the mean mAP of the same codes."""

    def combination(row: Row) -> tuple[Any, ...]:
        return row.folder, *(getattr(row, name) for name in COMBINATION if name != "metric")

    rows = results.rows(ground_truth="class_label", extension="none")
    of_top = [row for row in rows if re.fullmatch(r"mAP@\d+\[retrieved\]", row.metric)]
    papers_own = [row for row in of_top if (row.dataset, row.metric) == ("nuswide", "mAP@5000[retrieved]")]
    of_all = {combination(row): row.mean for row in rows if row.metric == "mAP"}
    judged = [row for row in papers_own or of_top if of_all.get(combination(row), 0) > 0]
    if not judged:
        return Evidence.as_printed({})
    factors = [row.mean / of_all[combination(row)] for row in judged]
    kinds = sorted({f"{row.metric} on {row.dataset} {row.feature}" for row in judged})
    values = {
        "combinations where mAP@p is not above mAP": sum(factor <= 1 for factor in factors),
        "combinations": len(factors),
        "smallest and largest mAP@p over mAP": [min(factors), max(factors)],
    }
    substitute = "" if papers_own else f"{', '.join(kinds)} for mAP@5000[retrieved] on nuswide"
    return Evidence.as_printed(values, substitute=substitute)

"""Claims of *Evaluation metrics* (mAP@p, nDCG@p)."""

import numpy as np

from protocol import codes
from protocol.papers.claim import Evidence, Values
from protocol.papers.results import Results, having
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
    rows = results.frame(ground_truth="class_label", extension="none")
    top = rows[rows["metric"].astype(str).str.fullmatch(r"mAP@\d+\[retrieved\]")]
    papers_own = having(top, dataset="nuswide", metric="mAP@5000[retrieved]")
    codes_of = ["folder", *(name for name in COMBINATION if name != "metric")]
    both = (papers_own if len(papers_own) else top).merge(
        having(rows, metric="mAP"), on=codes_of, suffixes=("", "_of_all")
    )
    both = both[both["mean_of_all"] > 0]
    if both.empty:
        return Evidence.as_printed({})
    factors = both["mean"] / both["mean_of_all"]
    kinds = sorted(set(both["metric"] + " on " + both["dataset"] + " " + both["feature"]))
    values = {
        "combinations where mAP@p is not above mAP": int((factors <= 1).sum()),
        "combinations": len(factors),
        "smallest and largest mAP@p over mAP": [factors.min(), factors.max()],
    }
    substitute = "" if len(papers_own) else f"{', '.join(kinds)} for mAP@5000[retrieved] on nuswide"
    return Evidence.as_printed(values, substitute=substitute)

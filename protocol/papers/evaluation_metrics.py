"""Claims of *Evaluation metrics* (mAP@p, nDCG@p)."""

import re
from typing import Any

import numpy as np

from protocol import codes
from protocol.papers._claim import Evidence, Paper, Values
from protocol.papers._rankings import histograms, untied, value
from protocol.papers._results import COMBINATION, Results, Row

PAPER = Paper("Evaluation metrics (mAP@p, nDCG@p)")


@PAPER.claim(
    "S1-01",
    place="eq. 1",
    statement="The Hamming distance is K/4 times the squared distance of the codes scaled to unit norm, and K/2 times "
    "(1 - their cosine).",
    expected={"largest difference, distance": 0, "largest difference, cosine": 0},
    within=1e-12,
    note="This is true for codes of -1 and +1, which the paper does not state. It is false for codes of 0 and 1: 10 "
    "and 11 differ in one bit, and 1 - cosine is 0.29.",
    errata=("E1-04",),
)
def distance_and_cosine() -> Values:
    """Compare random codes of 1, 12 and 64 bits."""
    apart = [0.0, 0.0]
    for n_bits in (1, 12, 64):
        bits = np.random.default_rng(n_bits).random((2, 9, n_bits)) < 0.5
        query, database = np.where(bits, 1.0, -1.0) / np.sqrt(n_bits)
        distances = codes.hamming_distance(codes.pack(bits[0]), codes.pack(bits[1]))
        from_distance = n_bits / 4 * ((query[:, None] - database) ** 2).sum(axis=2)
        from_cosine = n_bits / 2 * (1 - query @ database.T)
        apart = [
            max(apart[0], np.abs(distances - from_distance).max()),
            max(apart[1], np.abs(distances - from_cosine).max()),
        ]
    return {"largest difference, distance": apart[0], "largest difference, cosine": apart[1]}


@PAPER.claim(
    "S1-02",
    place="eq. 2-5",
    statement="AP@p divides by the relevant items among the top p.",
    expected={"+----": 1.0, "+---+": 0.7},
    within=1e-12,
    note="AP@p is therefore not monotone: for the second list it is 1 at p = 1 and 0.7 at p = 5. It is undefined "
    "without relevant items in the top p. The R of the denominator is printed with the index r instead of q, r is used "
    "both as limit and as running index, and the number of queries in the mean is not defined.",
    errata=("E1-01", "E1-02", "E1-03"),
)
def truncated_denominator() -> Values:
    """Score two lists of five by mAP@5[retrieved]."""
    found = {signs: value(untied(signs), "mAP@5[retrieved]") for signs in ("+----", "+---+")}
    return found | {"+---+ at p = 1": value(untied("+---+"), "mAP@1[retrieved]")}


@PAPER.claim(
    "X-04",
    place="eq. 2, next to section 5.2.1 of Hashing as Tie-Aware Learning to Rank",
    statement="AP over the relevant items among the top p exceeds the AP of the whole ranking.",
    expected={"combinations where mAP@p is not above mAP": 0},
    data=True,
    needs="mAP and a metric mAP@p[retrieved] by class labels: `snakemake --configfile "
    "workflow/config/cifar10_full.yaml -- metrics`",
    note="From AP@5K on NUS-WIDE, the second paper concludes that a focus on the top of the ranking overestimates AP; "
    "eq. 2 defines such a metric. A combination consists of dataset, feature, split, hasher and code length.",
)
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


@PAPER.claim(
    "S1-03",
    place="eq. 6-9",
    statement="nDCG@p has the gain 2^level - 1 for the levels 0 to 3, and the discount log2(rank + 1).",
    expected={"gains": [0, 1, 3, 7]},
    within=1e-12,
    note="The paper does not state whether the ideal ranking is that of the complete gallery or of the retrieved "
    "items, nor the value of a query without a match; here: the complete gallery, and 0.",
    errata=("E1-05",),
)
def gains() -> Values:
    """Rank an item of each level before one of level 3, and solve nDCG for its gain, as a share of 7."""
    second = 1 / np.log2(3)
    found = []
    for level in range(4):
        relevant = {3: [[1, 1]]} if level == 3 else {3: [[0, 1]]} | ({level: [[1, 0]]} if level else {})
        ndcg = value(histograms([1, 1], relevant), "nDCG")
        found.append(7 * (ndcg - second) / (1 - second * ndcg))
    return {"gains": found}

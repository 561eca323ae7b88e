"""Scores of results that are not codes: runs of search engines, against relevance judgments."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol import metrics as scores
from protocol.checks import ProtocolError, suggesting
from protocol.counting import RunCounts
from protocol.evaluation.conventions import Scoring, find
from protocol.evaluation.output import input_lines, metrics_table
from protocol.evaluation.result import ScoredRanking
from protocol.evaluation.scoring import Scores, score
from protocol.inputs.arrays import is_file, named
from protocol.inputs.judgments import read_judgments, read_run
from protocol.scores.tables import Table

ByQuery = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunEvaluation(ScoredRanking):
    """The scores that `evaluate_run` returns: those of `ScoredRanking`. They are printed as on the command line.

    Parameters
    ----------
    facts : dict of str to int
        The numbers of judged queries without results; of results of queries without judgments, which are left out; of
        results of judged queries, and of those without a judgment; of judgments below level 0; and of pairs of results
        with tied scores.
    """

    facts: dict[str, int]

    def content(self) -> dict[str, Any]:
        """Return the means, the fields that identify them, and `facts`."""
        return super().content() | {"facts": self.facts}

    def parts(self) -> list[str | Table]:
        """Return how the judgments were read, the table of the means, and those of `facts` that are above 0."""
        about = input_lines(self)
        if self.facts["results_without_judgment"] == self.facts["results_of_judged_queries"]:
            about.append("no result has a judgment: the run and the judgments may have different ids of items")
        cells = [(name.replace("_", " "), f"{n:,}") for name, n in self.facts.items() if n]
        facts = Table("run", "", ("the run and its judgments", "number"), cells)
        return ["\n".join(about), metrics_table(self), facts]


@suggesting
def evaluate_run(
    run: Any, relevance: Any, *, metrics: str | Sequence[str] | None = None, convention: str = "default"
) -> RunEvaluation:
    """Score a run of a search engine against relevance judgments.

    Items with equal scores are tied, and every metric treats ties as for codes, in expectation unless its name says
    otherwise. An item that was not retrieved has no rank: it counts as relevant in denominators only.

    Parameters
    ----------
    run : mapping of str to mapping of str to float, str or Path
        The scores of the items by query, ``{query: {item: score}}``; or a file of TREC with lines ``query Q0 item rank
        score tag``, whose ranks are not used.
    relevance : mapping of str to mapping of str to int, str or Path
        The levels of the judged items by query, ``{query: {item: level}}``; or a file of TREC with lines ``query
        iteration item level``, or of BEIR with the header ``query-id corpus-id score``. Items
        without a judgment, or with a level below 1, are not relevant.
    metrics : str or sequence of str, optional
        Registered metrics that depend on the order of the items alone. If None, those of the convention.
    convention : str, default="default"
        Determines how undefined values count, and the default metrics, as for `evaluate`.

    Returns
    -------
    RunEvaluation
        The scores of all judged queries, including those without results, like ``trec_eval -c``.

    Raises
    ------
    ProtocolError
        If an input is unusable, a metric needs codes, or no query of the run has judgments.

    Notes
    -----
    Without ties, the values equal those of trec_eval: mAP is its ``map``, ``mAP@K[all]`` ``map_cut``, P@K ``P``, R@K
    ``recall``, hit@K ``success``, nDCG[linear] ``ndcg``, MRR ``recip_rank``, R-precision ``Rprec``. Its scores have 32
    bits, so that some may be tied there that differ here.

    Examples
    --------
    >>> result = evaluate_run({"q": {"a": 0.9, "b": 0.4, "c": 0.4}}, {"q": {"b": 1, "d": 1}}, metrics=["mAP", "R@3"])
    >>> result.metrics, result.facts["pairs_with_tied_scores"]
    ({'mAP': 0.20833333333333331, 'R@3': 0.5}, 1)
    """
    names, rules = Scoring(metrics, convention).names(0, "run"), find(convention)
    if rules.leave_one_out:
        raise ProtocolError(f"convention {convention!r} leaves each query's own row out of a database. A run has none.")
    of_run, judgments = read_run(run), read_judgments(relevance)
    if not judgments.keys() & of_run.keys():
        ids = [repr(next(iter(queries), None)) for queries in (of_run, judgments)]
        raise ProtocolError(f"{named(run, 'run')}: no query has judgments: {ids[0]} is none of those such as {ids[1]}.")
    pairs = [(query, sorted(levels.items())) for query, levels in judgments.items()]
    return RunEvaluation(
        **vars(_scored(of_run, judgments, names, convention)),
        n_queries=len(judgments),
        ranking="run",
        relevance="judgments",
        convention=convention,
        ground_truth_sha256=hashlib.sha256(json.dumps(pairs).encode()).hexdigest(),
        inputs={role: str(file) for role, file in (("run", run), ("relevance", relevance)) if is_file(file)},
        query_ids=tuple(judgments),
        facts=_facts(of_run, judgments),
    )


def _facts(run: ByQuery, judgments: ByQuery) -> dict[str, int]:
    """Return the numbers that describe a run and its judgments."""
    common, others = [query for query in judgments if run.get(query)], run.keys() - judgments.keys()
    ties = [n for query in common for n in Counter(run[query].values()).values()]
    return {
        "judged_queries_without_results": len(judgments) - len(common),
        "results_of_queries_without_judgments": sum(len(run[query]) for query in others),
        "results_of_judged_queries": sum(ties),
        "results_without_judgment": sum(len(run[query].keys() - judgments[query].keys()) for query in common),
        "judgments_below_level_0": sum(level < 0 for judged in judgments.values() for level in judged.values()),
        "pairs_with_tied_scores": sum(n * (n - 1) // 2 for n in ties),
    }


def _scored(run: ByQuery, judgments: ByQuery, names: Sequence[str], convention: str) -> Scores:
    """Return the scores of a run; irrelevant items fill the ranks up to one that no metric requires."""
    levels = sorted({1, *(level for judged in judgments.values() for level in judged.values() if level > 0)})
    cutoffs = [scores.keywords(name).get("cutoff", 1) for name in names]
    n_ranks = max(*cutoffs, *map(len, run.values()), *map(len, judgments.values())) + 1
    n_distances = max(len({*of_query.values()}) for of_query in run.values()) + 2
    at_level = np.zeros((len(judgments), len(levels), n_distances), dtype=np.int64)
    retrieved = np.zeros((len(judgments), n_distances), dtype=np.int64)
    for row, (query, judged) in enumerate(judgments.items()):
        of_query = run.get(query, {})
        distances = {score: distance for distance, score in enumerate(sorted({*of_query.values()}, reverse=True))}
        places = {item: distances[score] for item, score in of_query.items()}
        np.add.at(retrieved[row], list(places.values()), 1)
        retrieved[row, -2] = n_ranks - len(of_query)
        for item, level in judged.items():
            if level > 0:
                at_level[row, levels.index(level), places.get(item, -1)] += 1
    retrieved[:, -1] = at_level[:, :, -1].sum(axis=1).max()
    return score([RunCounts(retrieved, at_level, np.array(levels))], names, convention)

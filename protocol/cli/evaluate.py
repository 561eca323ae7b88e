"""`protocol evaluate`: score your own codes."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.cli._output import check_outputs, given, passed, refuse_without, show
from protocol.inputs.text import INPUTS
from protocol.progress import report
from protocol.scores.metadata import OF_LABELS

if TYPE_CHECKING:
    from protocol.evaluation import Judgments, Labels, Nearest, Relevant
    from protocol.evaluation.ground_truth import Truth
    from protocol.evaluation.printed import Printed
    from protocol.evaluation.result import ScoredRanking

_LISTS = ("query_list", "database_list", "train_list", "split_file")
_LABELS = ("query_labels", "database_labels")
_NAMES = ("name", "dataset", "split", "ground_truth", "supervision")
_CODES, _VECTORS = ("query_codes", "database_codes"), ("query_vectors", "database_vectors")
_INPUTS = ("run", "relevance", "query_ids", "database_ids", "exclude_queries", *_LABELS, *_CODES, *_VECTORS)
_OF_RUNS = ("run", "relevance", *_NAMES, "metrics", "convention", "threads", "json", "per_query", "command", "debug")


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol evaluate`."""
    from protocol.evaluation import evaluate
    from protocol.evaluation.buckets import parsed_tables, searched
    from protocol.evaluation.conventions import find

    if arguments.run is not None:
        _score_run(arguments)
        return
    for text in arguments.tables:
        parsed_tables(text)
    if arguments.tables and (arguments.leave_one_out or find(arguments.convention).leave_one_out):
        raise ProtocolError("--tables searches the complete database, so it can't be combined with leaving one out.")
    _check_options(arguments)
    truth = _truth(arguments)
    options = passed(arguments, *_LABELS, "metrics", "convention", "leave_one_out", "threads")
    evaluation = evaluate(*codes(arguments), truth=truth, progress=report, **options)
    others: list[Printed] = []
    if arguments.tables:
        others = [searched(evaluation.codes, evaluation.truth.relevance, arguments.tables, arguments.convention)]
    _write(arguments, evaluation, others)


def _score_run(arguments: argparse.Namespace) -> None:
    """Score a run in place of codes."""
    from protocol.evaluation import evaluate_run

    for option, value in given(arguments, *(name for name in vars(arguments) if name not in _OF_RUNS)).items():
        if value != "hamming":  # the default
            raise ProtocolError(f"--run replaces codes, so {option} can't be combined with it.")
    if arguments.relevance is None:
        raise ProtocolError("--run needs --relevance FILE.")
    _check_options(arguments)
    _write(arguments, evaluate_run(**passed(arguments, "run", "relevance", "metrics", "convention")))


def _truth(arguments: argparse.Namespace) -> "Truth | None":
    """Return the ground truth; None if it is labels in the order of the codes."""
    vectors, relevant = nearest(arguments), relevance(arguments)
    if vectors is not None and not any((arguments.query_codes, arguments.database_codes)):
        hint = "--query-codes F --database-codes F --ranking cosine scores the vectors themselves."
        raise ProtocolError(f"--query-codes is missing. `protocol recall` computes codes from vectors; {hint}")
    if not (vectors or relevant or given(arguments, *_LABELS)):
        sources = "--query-labels and --database-labels, --relevance, or --query-vectors and --database-vectors"
        raise ProtocolError(f"No ground truth: pass {sources}.")
    if vectors is not None and relevant is not None:
        raise ProtocolError("More than one ground truth: --relevance and --query-vectors. Choose one.")
    return relevant or vectors


def relevance(arguments: argparse.Namespace) -> "Judgments | Labels | Relevant | None":
    """Return the relevance as the ground truth: judgments if there are ids, or labels if these have ids."""
    from protocol.evaluation import Judgments, Labels, Relevant

    ids, labels = (arguments.query_ids, arguments.database_ids), (arguments.query_labels, arguments.database_labels)
    if any(ids) and all(labels) and arguments.relevance is None:
        return Labels(*labels, *ids)
    if arguments.relevance is None or None in ids:
        if any(ids):
            raise ProtocolError("Judgments need all of --relevance, --query-ids and --database-ids.")
        return None if arguments.relevance is None else Relevant(arguments.relevance)
    return Judgments(arguments.relevance, *ids)


def _check_options(arguments: argparse.Namespace) -> None:
    """Check, before anything is computed, that the outputs can be written."""
    from protocol.evaluation.exclusion import excluded_rows

    folder = arguments.trec
    trec = {f"--trec {name}": folder and folder / name for name in ("run", "qrels")}
    check_outputs(given(arguments, "json", "per_query") | trec, passed(arguments, *_INPUTS).values())
    if arguments.ranking != "hamming":
        for option in given(arguments, "tables", "trec"):
            raise ProtocolError(f"{option} needs the distances of --ranking hamming.")
    if arguments.exclude_queries is not None:
        excluded_rows(arguments.exclude_queries)
    lists = given(arguments, *_LISTS)  # whose digests the JSON file records
    if arguments.json is None:
        refuse_without("--json", lists)
    for file in lists.values():
        if not Path(file).is_file():
            raise ProtocolError(f"{file}: no such file.")


def codes(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Return the codes of queries and database with their encoding."""
    from protocol.evaluation import Codes, Outputs

    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    query, database = (Codes(file, *encoding) for file in (arguments.query_codes, arguments.database_codes))
    return (query if arguments.ranking == "hamming" else Outputs(query.values, arguments.ranking)), database


def nearest(arguments: argparse.Namespace) -> "Nearest | None":
    """Return the nearest items as the ground truth; None without vectors."""
    from protocol.evaluation import Nearest

    query, database, k = arguments.query_vectors, arguments.database_vectors, arguments.neighbours
    if query is None and database is None:
        refuse_without("--query-vectors and --database-vectors", given(arguments, "neighbours", "distance"))
        return None
    return Nearest(query, database, k, arguments.distance or "cosine")


def _write(arguments: argparse.Namespace, evaluation: "ScoredRanking", others: "Sequence[Printed]" = ()) -> None:
    """Write the files that were requested, and print the results."""
    from protocol.evaluation import Evaluation

    names, results = passed(arguments, *_NAMES), list(others)
    if names["dataset"] and names["split"] and not names["ground_truth"] and evaluation.relevance in OF_LABELS:
        names["ground_truth"] = "class_label"
        INPUTS.info("ground truth: recorded as class_label, as in experiments; --ground-truth gives it another name")
    evaluation = evaluation.named(**names)
    if isinstance(evaluation, Evaluation):  # of codes
        if arguments.exclude_queries is not None:
            results.insert(0, evaluation.without(arguments.exclude_queries))
        if arguments.spread:
            results.insert(0, evaluation.spread(threads=arguments.threads))
        if arguments.trec is not None:
            results.append(evaluation.to_trec(arguments.trec))
    if arguments.per_query:
        evaluation.write_per_query(arguments.per_query)
    if arguments.json:
        lists = {name.split("_")[0]: file for name, file in passed(arguments, *_LISTS).items()}
        evaluation.write_json(arguments.json, *results, per_query=arguments.per_query, lists=lists)
    show("\n\n".join(map(str, [evaluation, *results])))

"""`protocol explain`: find the evaluation that gives a reported score."""

import argparse
import os

from protocol.checks import ProtocolError, counted
from protocol.cli._output import check_outputs, finish, passed
from protocol.cli.evaluate import relevance
from protocol.progress import report


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol explain`."""
    from protocol.evaluation import Codes
    from protocol.evaluators import explain

    sides = {"--query-codes": arguments.query_codes, "--database-codes": arguments.database_codes}
    n_scores = len(arguments.score)
    lengths = arguments.n_bits or [None] * n_scores
    for option, values in (sides | {"--n-bits": lengths}).items():
        if len(values) != n_scores:
            got = f"{counted(n_scores, 'score')}, but {counted(len(values), 'value')} of {option}"
            raise ProtocolError(f"{got}. Pass one for each score.")
    truth = passed(arguments, "query_labels", "database_labels", "relevance", "query_ids", "database_ids").values()
    check_outputs({"--json": arguments.json}, [*arguments.query_codes, *arguments.database_codes, *truth])
    encoding = (arguments.bit_order, arguments.binarize)
    query, database = ([Codes(*one, *encoding) for one in zip(files, lengths, strict=True)] for files in sides.values())
    if not any((arguments.query_labels, arguments.database_labels, arguments.relevance)):
        raise ProtocolError("No ground truth: pass --query-labels and --database-labels, or --relevance.")
    options = passed(arguments, "query_labels", "database_labels", "measure")
    threads = arguments.threads if arguments.threads is not None else os.cpu_count() or 1
    options |= {"truth": relevance(arguments), "threads": threads, "progress": report}
    finish(explain(arguments.score, query, database, **options), arguments.json)

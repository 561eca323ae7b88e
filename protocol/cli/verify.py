"""`protocol verify`: check a stored result by computing it again."""

import argparse
from typing import Any

from protocol.cli._output import check_outputs, finish, given, passed, refuse_without
from protocol.cli.evaluate import relevance
from protocol.progress import report

_CODES, _LABELS = ("query_codes", "database_codes"), ("query_labels", "database_labels")
_TRUTH = ("relevance", "query_ids", "database_ids", "query_vectors", "database_vectors")
_ENCODING = ("n_bits", "bit_order", "binarize")


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol verify`."""
    from protocol.evaluation import Nearest
    from protocol.verification import files_of, verify

    vectors = (arguments.query_vectors, arguments.database_vectors)
    if arguments.json:
        files = passed(arguments, "record", *_CODES, *_LABELS, *_TRUTH).values()
        check_outputs({"--json": arguments.json}, [*files, *files_of(arguments.record)])
    verification = verify(
        arguments.record,
        *(_encoded(arguments, getattr(arguments, name)) for name in _CODES),
        truth=relevance(arguments) if vectors == (None, None) else Nearest(*vectors),
        progress=report,
        **passed(arguments, *_LABELS, "threads"),
    )
    finish(verification, arguments.json)
    return int(not verification.holds)


def _encoded(arguments: argparse.Namespace, file: str | None) -> Any:
    """Return the codes of one side, with their encoding if options give any."""
    from protocol.evaluation import Codes

    if file is None:
        return refuse_without("--query-codes and --database-codes", given(arguments, *_ENCODING))
    encoding = {name: value for name, value in passed(arguments, *_ENCODING).items() if value is not None}
    return Codes(file, **encoding) if encoding else file

"""`protocol quantisation`: measure the recall lost to binarisation, and to other representations of vectors."""

import argparse
from typing import Any

from protocol.checks import ProtocolError
from protocol.cli._output import passed, report
from protocol.cli.evaluate import check_options, codes, nearest, write


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol quantisation`."""
    from protocol.quantisers import Rescoring, quantisation

    check_options(arguments, [arguments.query_codes, arguments.database_codes, arguments.train_vectors])
    vectors = nearest(arguments)
    if vectors is None:
        raise ProtocolError("--query-vectors and --database-vectors are missing.")
    result = quantisation(
        vectors,
        _codes(arguments),
        rescoring=Rescoring(arguments.rescore, arguments.target, arguments.largest_factor),
        quantisers=arguments.quantiser,
        train=arguments.train_vectors,
        progress=report,
        **passed(arguments, "seed", "metrics", "convention", "threads"),
    )
    write(arguments, result)


def _codes(arguments: argparse.Namespace) -> Any:
    """Return the codes in files, or the hasher that computes them from the vectors."""
    if arguments.query_codes is None and arguments.database_codes is None:
        for name in ("binarize", "n_bits"):
            if getattr(arguments, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ProtocolError(
                    f"{option} needs --query-codes and --database-codes as well. A hasher is named with its code "
                    "length, as in itq:n_bits=16."
                )
        if arguments.ranking != "hamming":
            raise ProtocolError("--ranking asymmetric needs outputs of the queries as --query-codes.")
        return arguments.hasher or "sign"
    if arguments.hasher is not None:
        raise ProtocolError("--hasher computes codes from vectors, so it can't be combined with --query-codes.")
    if arguments.train_vectors is not None and not arguments.quantiser and arguments.rescore is None:
        raise ProtocolError("--train-vectors needs a hasher or a quantiser to fit, but only codes are given.")
    return codes(arguments)

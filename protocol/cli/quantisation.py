"""`protocol quantisation`: measure the recall lost to binarisation, and to other representations of vectors."""

import argparse
from typing import Any

from protocol.checks import ProtocolError
from protocol.cli._output import passed, report
from protocol.cli.evaluate import check_options, codes, nearest, write


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol quantisation`."""
    from protocol.quantisers import Quantisers, Rescoring, quantisation

    train = arguments.train_vectors
    check_options(arguments, [arguments.query_codes, arguments.database_codes, train])
    vectors = nearest(arguments)
    if vectors is None:
        raise ProtocolError("--query-vectors and --database-vectors are missing.")
    result = quantisation(
        vectors,
        _codes(arguments),
        rescoring=Rescoring(arguments.rescore, arguments.target, arguments.largest_factor),
        quantisers=Quantisers(arguments.quantiser, arguments.seed, train),
        progress=report,
        **passed(arguments, "metrics", "convention", "threads"),
    )
    write(arguments, result)


def _codes(arguments: argparse.Namespace) -> Any:
    """Return the codes in files, or the hasher that computes them from the vectors."""
    from protocol.quantisers import Hashing
    from protocol.quantisers.representations import parsed_options

    if arguments.query_codes is None and arguments.database_codes is None:
        if arguments.binarize is not None:
            raise ProtocolError("--binarize needs --query-codes and --database-codes as well.")
        if arguments.ranking != "hamming":
            raise ProtocolError("--ranking asymmetric needs outputs of the queries as --query-codes.")
        options = parsed_options(arguments.hasher_option, "--hasher-option")
        hasher = arguments.hasher or "sign"
        return Hashing(hasher, arguments.n_bits, options, arguments.seed, arguments.train_vectors)
    if arguments.hasher is not None or arguments.hasher_option:
        raise ProtocolError("--hasher computes codes from vectors, so it can't be combined with --query-codes.")
    if arguments.train_vectors is not None and not arguments.quantiser and arguments.rescore is None:
        raise ProtocolError("--train-vectors needs a hasher or a quantiser to fit, but only codes are given.")
    return codes(arguments)

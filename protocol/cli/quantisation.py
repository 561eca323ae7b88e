"""`protocol quantisation`: measure the recall lost to binarisation, and to other representations of vectors."""

import argparse
import ast
import contextlib
from typing import Any

from protocol.checks import ProtocolError, integer
from protocol.cli._progress import stages
from protocol.cli.evaluate import check_options, codes, nearest, write


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol quantisation`."""
    from protocol.evaluation import Quantisers, Rescoring, quantisation

    files = [arguments.query_codes, arguments.database_codes, arguments.train_vectors, *(arguments.rescore_codes or ())]
    trec = check_options(arguments, files)
    vectors = nearest(arguments)
    if vectors is None:
        raise ProtocolError("--query-vectors and --database-vectors are missing.")
    if arguments.bytes is not None and not arguments.quantiser:
        raise ProtocolError("--bytes needs --quantiser as well.")
    train = arguments.train_vectors
    against = Quantisers(
        arguments.quantiser, arguments.bytes, arguments.cascade, arguments.factors, arguments.seed, train
    )
    with stages() as report:
        result = quantisation(
            vectors,
            _first(arguments),
            rescoring=Rescoring(_second(arguments), arguments.target, arguments.largest_factor),
            quantisers=against,
            measure_speed=arguments.measure_speed,
            metrics=arguments.metric,
            convention=arguments.convention,
            spread=arguments.spread,
            threads=arguments.threads,
            progress=report,
        )
    write(arguments, result, [], trec)


def _first(arguments: argparse.Namespace) -> Any:
    """Return the codes: those in files, or the hasher that computes them from the vectors."""
    if arguments.query_codes is None and arguments.database_codes is None:
        if arguments.binarize is not None:
            raise ProtocolError("--binarize needs --query-codes and --database-codes as well.")
        if arguments.ranking != "hamming":
            raise ProtocolError("--ranking asymmetric needs outputs of the queries as --query-codes.")
        return _hashing(arguments, arguments.hasher or "sign", arguments.n_bits, _options(arguments))
    if arguments.hasher is not None or arguments.hasher_option:
        raise ProtocolError("--hasher computes codes from vectors, so it can't be combined with --query-codes.")
    fitted = (arguments.rescore_hasher, arguments.rescore_bits, *arguments.quantiser, *arguments.cascade)
    if arguments.train_vectors is not None and all(option is None for option in fitted):
        raise ProtocolError("--train-vectors needs a hasher or a quantiser to fit, but only codes are given.")
    return codes(arguments)


def _second(arguments: argparse.Namespace) -> Any:
    """Return the second codes: those in files, or the hasher that computes them; None without any."""
    from protocol.evaluation import Codes

    if arguments.rescore_codes is not None:
        if arguments.rescore_hasher is not None:
            raise ProtocolError("--rescore-hasher and --rescore-codes can't be combined. Choose one.")
        encoding = (arguments.rescore_bits, arguments.bit_order, arguments.binarize)
        return tuple(Codes(path, *encoding) for path in arguments.rescore_codes)
    if arguments.rescore_hasher is None and arguments.rescore_bits is None:
        return None
    if arguments.rescore_bits is not None:
        integer(arguments.rescore_bits, "--rescore-bits")
    first = arguments.hasher or "sign"
    hasher = arguments.rescore_hasher or first
    return _hashing(arguments, hasher, arguments.rescore_bits, _options(arguments) if hasher == first else {})


def _hashing(arguments: argparse.Namespace, hasher: str, n_bits: int | None, options: dict[str, Any]) -> Any:
    from protocol.evaluation import Hashing

    return Hashing(hasher, n_bits, options, arguments.seed, arguments.train_vectors)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the hasher written as KEY=VALUE; values that are not Python literals are strings."""
    options: dict[str, Any] = {}
    for pair in arguments.hasher_option:
        name, mark, text = pair.partition("=")
        if not (name and mark):
            raise ProtocolError(f"--hasher-option must be KEY=VALUE, got {pair!r}.")
        with contextlib.suppress(ValueError, SyntaxError):
            options[name] = ast.literal_eval(text)
        options.setdefault(name, text)
    return options

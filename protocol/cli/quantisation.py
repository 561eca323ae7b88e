"""`protocol quantisation`: what binary codes lose of the vectors that they represent.

vectors and codes:
  The formats of files and codes are those of `protocol evaluate --help-all`. Large F.npy, F.fbin
  and F.fvecs files of vectors are read in blocks.

output:
  neighbours@K is the share of the K nearest items among the first K by code, and 1-recall@K the
  share of queries whose nearest item is among them. With re-ranking, c x K items are retrieved
  by code and ranked again by the vectors, or by the second codes, and the first K are returned.
  For all other metrics, the items up to the distance of the K-th nearest one are relevant.
"""

import argparse
import ast
import contextlib
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.cli._progress import stages
from protocol.cli.evaluate import add_files, add_scoring, check_options, codes, nearest, write

if TYPE_CHECKING:
    from protocol.cli._help import Parser


def _quantisation(arguments: argparse.Namespace) -> None:
    from protocol.evaluation import Rescoring, quantisation

    files = [arguments.query_codes, arguments.database_codes, arguments.train_vectors, *(arguments.rescore_codes or ())]
    trec = check_options(arguments, files)
    vectors = nearest(arguments)
    if vectors is None:
        raise ProtocolError("--query-vectors and --database-vectors are missing.")
    with stages() as shown:
        found = quantisation(
            vectors,
            _first(arguments),
            rescoring=Rescoring(_second(arguments), arguments.target, arguments.largest_factor),
            measure_speed=arguments.measure_speed,
            metrics=arguments.metric,
            convention=arguments.convention,
            spread=arguments.spread,
            threads=arguments.threads,
            progress=shown,
        )
    write(arguments, found, [], trec)


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
    if arguments.train_vectors is not None and arguments.rescore_hasher is None and arguments.rescore_bits is None:
        raise ProtocolError("--train-vectors: expected a hasher that is fitted on them, got codes.")
    return codes(arguments)


def _second(arguments: argparse.Namespace) -> Any:
    """Return the second codes: those in files, or the hasher that computes them; None without any."""
    from protocol.evaluation import Codes

    if arguments.rescore_codes is not None:
        if arguments.rescore_hasher is not None:
            raise ProtocolError("--rescore-hasher and --rescore-codes: choose one.")
        encoding = (arguments.rescore_bits, arguments.bit_order, arguments.binarize)
        return tuple(Codes(path, *encoding) for path in arguments.rescore_codes)
    if arguments.rescore_hasher is None and arguments.rescore_bits is None:
        return None
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
            raise ProtocolError(f"--hasher-option: expected KEY=VALUE, got {pair!r}.")
        with contextlib.suppress(ValueError, SyntaxError):
            options[name] = ast.literal_eval(text)
        options.setdefault(name, text)
    return options


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol quantisation`."""
    command = commands.add_parser(
        "quantisation",
        usage="protocol quantisation --query-vectors F --database-vectors F [OPTION ...]",
        help="measure what binary codes lose of vectors",
        description="Measure how many of the nearest items of the vectors binary codes find, alone and with re-ranking "
        "of the items that are retrieved. The codes are computed from the vectors, by default by their signs.\n"
        "Files F: .npy, .fbin, .fvecs, .npz:key, .h5:dataset and others, one row for each item.",
        details=(__doc__ or "").partition("\n\n")[2],
        examples="""
            protocol quantisation --query-vectors qv.npy --database-vectors dv.npy
            ... --hasher itq --bits 16 --train-vectors t.npy        codes of a hasher
            ... --query-codes q.npy --database-codes d.npy          your own codes
            ... --distance euclidean --neighbours 10 --target 0.99  which items are near, and how many to find
            ... --bits 16 --rescore-bits 32 --measure-speed         re-rank by a longer code
        """,
    )
    add_files(command, "vectors", "{} vectors")
    add_files(command, "codes", "{} codes: 0/1, -1/+1 or packed bits")
    command.add_argument("--hasher", metavar="NAME", help="hasher that encodes the vectors (sign)")
    command.add_argument(
        "--hasher-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the hasher; may be repeated",
    )
    command.add_argument(
        "--train-vectors",
        metavar="F",
        help="vectors that the hasher is fitted on (the database, or 10,000 of its rows drawn with --seed)",
    )
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the hasher and of the sample of training vectors (0)",
    )
    second = command.rare("re-ranking and speed")
    second.add_argument(
        "--target",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="find the smallest c for which re-ranking c x K items finds this share of the nearest items (0.95)",
    )
    second.add_argument("--largest-factor", type=int, default=64, metavar="C", help="largest c of the curve (64)")
    second.add_argument(
        "--rescore-codes", nargs=2, metavar=("Q", "D"), help="re-rank by second codes of the queries and the database"
    )
    second.add_argument("--rescore-hasher", metavar="NAME", help="hasher of the second codes (that of --hasher)")
    second.add_argument(
        "--rescore-bits", type=int, metavar="B", help="length of the second codes (the dimension of the vectors)"
    )
    second.add_argument(
        "--measure-speed", action="store_true", help="measure the queries per second of our own exact scan"
    )
    add_scoring(command)
    command.set_defaults(run=_quantisation)

"""`protocol evaluate`: score your own codes."""

import argparse
import ast
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages

if TYPE_CHECKING:
    from protocol.cli._help import Parser
    from protocol.evaluation.trec import TrecOptions

_INPUTS = (
    *("query_codes", "database_codes", "query_labels", "database_labels", "relevance"),
    *("query_vectors", "database_vectors", "train_vectors", "exclude_queries"),
)
_OUTPUTS = ("json", "per_query", "pr_curves", "top_n_curves")


def _evaluate(arguments: argparse.Namespace) -> None:
    from protocol import evaluation

    files = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OUTPUTS}
    trec = {f"--trec {name}": arguments.trec and arguments.trec / name for name in ("run", "qrels")}
    inputs = [getattr(arguments, name) for name in _INPUTS]
    check_outputs(files | trec, [*inputs, *(arguments.rescore_codes or ())])
    for path in filter(None, files.values()):
        from protocol.provenance.storage import check_writable

        check_writable(path.parent)  # before minutes of counting
    if arguments.pr_curves and arguments.ranking == "asymmetric":
        raise ProtocolError("--pr-curves: expected --ranking hamming, since curves need a radius, got asymmetric.")
    with stages() as shown:
        found = evaluation.evaluate(
            arguments.query_codes,
            arguments.database_codes,
            query_labels=arguments.query_labels,
            database_labels=arguments.database_labels,
            relevance=arguments.relevance,
            query_vectors=arguments.query_vectors,
            database_vectors=arguments.database_vectors,
            distance=arguments.distance,
            neighbours=arguments.neighbours,
            relevant_neighbours=arguments.relevant_neighbours,
            hasher=arguments.hasher,
            hasher_options=_hasher_options(arguments.hasher_option),
            train_vectors=arguments.train_vectors,
            seed=arguments.seed,
            rescore_codes=arguments.rescore_codes,
            rescore_hasher=arguments.rescore_hasher,
            rescore_bits=arguments.rescore_bits,
            target=arguments.target,
            largest_factor=arguments.largest_factor,
            measure_speed=arguments.measure_speed,
            n_bits=arguments.n_bits,
            bit_order=arguments.bit_order,
            binarize=arguments.binarize,
            ranking=arguments.ranking,
            metrics=arguments.metric,
            convention=arguments.convention,
            spread=arguments.spread,
            tables=arguments.tables,
            lookup_radius=arguments.lookup_radius,
            trec=_trec_options(arguments),
            exclude_queries=arguments.exclude_queries,
            threads=arguments.threads,
            progress=shown,
            name=arguments.name,
            dataset=arguments.dataset,
            split=arguments.split,
            ground_truth=arguments.ground_truth,
        )
    if arguments.per_query:
        evaluation.write_per_query(arguments.per_query, found)
    if arguments.json:
        evaluation.write_json(arguments.json, found, per_query=arguments.per_query)
    if arguments.pr_curves:
        evaluation.write_pr_curves(arguments.pr_curves, found)
    if arguments.top_n_curves:
        evaluation.write_top_n_curves(arguments.top_n_curves, found)
    show(evaluation.table(found))


def _hasher_options(pairs: list[str]) -> dict[str, Any] | None:
    """Return the options written as KEY=VALUE; values that are not Python literals are strings."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, mark, text = pair.partition("=")
        if not (name and mark):
            raise ProtocolError(f"--hasher-option: expected KEY=VALUE, got {pair!r}.")
        with contextlib.suppress(ValueError, SyntaxError):
            options[name] = ast.literal_eval(text)
        options.setdefault(name, text)
    return options or None


def _trec_options(arguments: argparse.Namespace) -> "TrecOptions | None":
    from protocol.evaluation.trec import TrecOptions

    given = {name: getattr(arguments, f"trec_{name}") for name in ("depth", "ties", "seed")}
    options = {name: value for name, value in given.items() if value is not None}
    if arguments.trec is None and options:
        raise ProtocolError(f"--trec-{next(iter(options))}: expected --trec DIR with it, got none.")
    return None if arguments.trec is None else TrecOptions(arguments.trec, **options)


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol evaluate`."""
    command = commands.add_parser(
        "evaluate",
        usage="protocol evaluate --query-codes F --database-codes F\n"
        "                         (--query-labels F --database-labels F | --relevance F) [OPTION ...]\n"
        "       protocol evaluate --query-vectors F --database-vectors F [OPTION ...]",
        help="score your own binary codes",
        description="Rank the database for each query by the Hamming distance of the codes, and score the ranking.\n"
        "Files F: .npy, .npz:key, .h5:dataset, .mat:variable, .csv, .txt and others, one row for each item.",
        details=_DETAILS,
        examples="""
            protocol evaluate --query-codes q.npy --database-codes d.npy \\
                              --query-labels q.csv --database-labels d.csv
            ... --binarize sign                            for real-valued outputs of a network
            ... --metric mAP@5000[retrieved] precision@r2  compute these metrics (protocol list metrics)
            ... --convention hashnet --json means.json     score as another tool does
            ... --spread                                   compare the values that are called mAP
            protocol evaluate --query-vectors qv.npy --database-vectors dv.npy    use signs as codes
        """,
    )
    for side in ("query", "database"):
        command.add_argument(f"--{side}-codes", metavar="F", help=f"{side} codes: 0/1, -1/+1 or packed bits")
    for side in ("query", "database"):
        command.add_argument(
            f"--{side}-labels", metavar="F", help=f"{side} labels; items that share a label are relevant"
        )
    command.add_argument("--relevance", metavar="F", help="the relevant database items of each query")
    for side in ("query", "database"):
        command.add_argument(
            f"--{side}-vectors", metavar="F", help=f"{side} vectors; the items nearest to a query are relevant"
        )
    command.add_argument(
        "--n-bits",
        "--bits",
        type=int,
        metavar="B",
        help="code length of packed codes or of --hasher",
    )
    command.add_argument(
        "--binarize", metavar="sign|median", help="threshold of real-valued outputs: 0, or each bit's median"
    )
    command.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="metrics, or all (those of the convention)",
    )
    command.add_argument(
        "--convention",
        default="protocol",
        metavar="NAME",
        help="scoring convention, such as hashnet (protocol)",
    )
    command.add_argument("--spread", action="store_true", help="print every value that some convention calls mAP")
    command.add_argument("--json", type=Path, metavar="F", help="write the means and what identifies them")
    command.add_argument("--per-query", type=Path, metavar="F.csv", help="write the values of each query")
    _add_rare(command)
    _add_vectors(command)
    command.set_defaults(run=_evaluate)


def _add_rare(command: "Parser") -> None:
    """Add the options that only the complete help describes, except those for vectors."""
    codes = command.rare("packed and real-valued codes")
    codes.add_argument(
        "--bit-order",
        default="little",
        metavar="little|big|big-128",
        help="bit order of packed codes: the first bit has weight 1, or 128, or 128 with 128 subtracted (little)",
    )
    codes.add_argument(
        "--ranking",
        default="hamming",
        metavar="hamming|asymmetric",
        help="rank by Hamming distance, or by the inner product with the query's real values (hamming)",
    )

    lookup = command.rare("hash tables, lookups and curves")
    lookup.add_argument(
        "--tables",
        action="append",
        default=[],
        metavar="KxL",
        help="also search L hash tables of K bits each; may be repeated",
    )
    lookup.add_argument(
        "--lookup-radius", type=int, metavar="R", help="measure the lookups of an inverted index up to radius R"
    )
    lookup.add_argument("--pr-curves", type=Path, metavar="F.csv", help="write precision and recall at every radius")
    lookup.add_argument(
        "--top-n-curves", type=Path, metavar="F.csv", help="write precision and recall of the top N items for each N"
    )

    trec = command.rare("files for trec_eval")
    trec.add_argument("--trec", type=Path, metavar="DIR", help="write run and qrels files")
    trec.add_argument(
        "--trec-depth",
        type=int,
        metavar="K",
        help="number of items per query in the run (1000, or the database if smaller)",
    )
    trec.add_argument(
        "--trec-ties",
        metavar="ORDER",
        help="order of ties in the run: expected spreads the relevant items evenly, so that mAP is close to its "
        "expected value; shuffled is a random order; distance writes equal scores, which trec_eval orders by document "
        "id (expected)",
    )
    trec.add_argument("--trec-seed", type=int, metavar="SEED", help="seed of --trec-ties shuffled (0)")

    run = command.rare("excluded queries and threads")
    run.add_argument(
        "--exclude-queries",
        metavar="F",
        help="row numbers of queries, from 0, one per line: every metric is printed with and without them",
    )
    run.add_argument("--threads", type=int, default=1, metavar="N", help="threads of the search and the counting (1)")

    recorded = command.rare("names recorded with the scores")
    recorded.add_argument("--name", metavar="NAME", help="name of the codes in a comparison")
    for field, what in (
        ("dataset", "dataset"),
        ("split", "split protocol"),
        ("ground-truth", "ground truth (an experiment's neighbours are, for example, 'epsilon_ball of gist')"),
    ):
        recorded.add_argument(f"--{field}", metavar="NAME", help=f"name of the {what}")


def _add_vectors(command: "Parser") -> None:
    """Add the options for vectors."""
    vectors = command.rare("options for vectors")
    vectors.add_argument(
        "--distance",
        metavar="NAME",
        help="distance that decides which items are nearest: cosine, euclidean, or dot, the inner product (cosine)",
    )
    vectors.add_argument(
        "--neighbours", type=int, nargs="+", metavar="K", help="numbers K of nearest items to look for (1 10 100)"
    )
    vectors.add_argument(
        "--relevant-neighbours",
        type=int,
        metavar="K",
        help="number of nearest items that are relevant in all other metrics (the largest of --neighbours)",
    )
    vectors.add_argument(
        "--hasher", metavar="NAME", help="hasher that encodes the vectors (sign, if no codes are given)"
    )
    vectors.add_argument(
        "--hasher-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the hasher; may be repeated",
    )
    vectors.add_argument(
        "--train-vectors",
        metavar="F",
        help="vectors that the hasher is fitted on (the database, or 10,000 of its rows drawn with --seed)",
    )
    vectors.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of the hasher and of the sample of training vectors (0)",
    )
    vectors.add_argument(
        "--target",
        type=float,
        metavar="SHARE",
        help="find the smallest c for which re-ranking c x K items finds this share of the nearest items (0.95)",
    )
    vectors.add_argument("--largest-factor", type=int, metavar="C", help="largest c of the curve (64)")
    vectors.add_argument(
        "--rescore-codes", nargs=2, metavar=("Q", "D"), help="re-rank by second codes of the queries and the database"
    )
    vectors.add_argument("--rescore-hasher", metavar="NAME", help="hasher of the second codes (that of --hasher)")
    vectors.add_argument(
        "--rescore-bits",
        type=int,
        metavar="B",
        help="length of the second codes in bits (the dimension of the vectors)",
    )
    vectors.add_argument(
        "--measure-speed", action="store_true", help="measure the queries per second of our own exact scan"
    )


_DETAILS = """
    files:
      F.npy  F.npz:key  F.h5:dataset  F.hdf5:dataset  F.mat:variable  F.csv  F.tsv  F.txt
      F.fbin  F.f16bin  F.u8bin  F.i8bin  F.ibin (big-ann-benchmarks)  F.fvecs  F.ivecs  F.bvecs
      The key may be omitted if the file contains one array. Nothing is ever unpickled.

    codes:
      0 and 1, -1 and +1 or bool, one row for each item and one column for each bit; or packed
      uint8 with --n-bits. For codes packed by sentence-transformers, use --bit-order big (ubinary)
      or --bit-order big-128 (binary). Real-valued outputs need --binarize: sign (above 0) or median
      (above the median of the bit in the database). A value equal to the threshold becomes 0.

    rankings:
      hamming     by the Hamming distance of the codes
      asymmetric  by the inner product of the query's real values, which are not binarised, with the
                  codes of the database as -1 and +1. The thresholds of --binarize are subtracted
                  from the query's values.

    labels:
      An integer or a word for each item, or a 0/1 matrix with one row for each item.

    relevance:
      F.npz of scipy.sparse.save_npz (csr, n_queries x n_database, values are relevance levels from
      1 to 255); or the positions of the relevant database items, from 0, as one line of F.txt or
      one row of an array for each query, for example F.hdf5:neighbors of ann-benchmarks; or a
      Boolean matrix of shape (n_queries, n_database).

    vectors:
      One row for each item. The items nearest to a query by --distance are relevant, so the scores
      measure what the codes lose. The codes are given, or computed from the vectors by --hasher,
      by default the sign of each dimension. Large F.npy, F.fbin and F.fvecs files are read in blocks.

    more examples:
      protocol evaluate --query-codes q.npy --database-codes d.npy \\
                        --query-labels q.csv --database-labels d.csv
      ... --query-codes real.npy --ranking asymmetric     real-valued queries, binary database
      ... --metric all --spread                           every metric, K = 1000 and R = 0, 1, 2
      ... --tables 16x4 --lookup-radius 2                 precision, recall and speed of hash tables
      ... --trec trec --trec-ties shuffled --trec-seed 1  files for trec_eval
      ... --exclude-queries affected.txt                  also score without some queries
      ... --json means.json --per-query values.csv        for `protocol compare` and significance tests
      protocol evaluate --query-codes c.mat:tB --database-codes c.mat:B --n-bits 48 --relevance near.npz
      protocol evaluate --query-vectors qv.npy --database-vectors dv.npy
      ... --query-codes q.npy --database-codes d.npy          your own codes instead of the signs
      ... --hasher itq --bits 16 --train-vectors t.npy        codes of a hasher
      ... --distance euclidean --neighbours 10 --target 0.99  which items are near, and how many to find
      ... --bits 16 --rescore-bits 32 --measure-speed         re-rank by a longer code
"""

r"""`protocol evaluate`: score your own codes.

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
  One row for each item. The items nearest to a query by --distance are relevant. Large F.npy,
  F.fbin and F.fvecs files are read in blocks. `protocol quantisation` computes codes from vectors.

more examples:
  protocol evaluate --query-codes q.npy --database-codes d.npy \
                    --query-labels q.csv --database-labels d.csv
  ... --query-codes real.npy --ranking asymmetric     real-valued queries, binary database
  ... --metric all --spread                           every metric, K = 1000 and R = 0, 1, 2
  ... --tables 16x4 --lookup-radius 2                 precision, recall and speed of hash tables
  ... --trec trec --trec-ties shuffled --trec-seed 1  files for trec_eval
  ... --exclude-queries affected.txt                  also score without some queries
  ... --json means.json --per-query values.csv        for `protocol compare` and significance tests
  protocol evaluate --query-codes c.mat:tB --database-codes c.mat:B --n-bits 48 --relevance near.npz
  protocol evaluate --query-codes q.npy --database-codes d.npy \
                    --query-vectors qv.npy --database-vectors dv.npy --neighbours 10
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, one_of
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages
from protocol.scores.identity import RANKINGS

if TYPE_CHECKING:
    from protocol.cli._help import Parser
    from protocol.evaluation import Evaluation, Nearest, TrecOptions
    from protocol.evaluation.printed import Printed

_OUTPUTS = ("json", "per_query", "pr_curves", "top_n_curves")


def _evaluate(arguments: argparse.Namespace) -> None:
    from protocol.evaluation import Codes, Relevant, bucket_search, evaluate, lookup_time
    from protocol.evaluation.buckets import Tables

    for text in arguments.tables:
        Tables.parse(text)
    inputs = [getattr(arguments, f"{side}_{kind}") for side in ("query", "database") for kind in ("codes", "labels")]
    trec = check_options(arguments, [*inputs, arguments.relevance])
    truth = nearest(arguments)
    if truth is not None and not any(inputs):
        raise ProtocolError("--query-codes is missing. `protocol quantisation` computes codes from vectors.")
    if truth is not None and arguments.relevance is not None:
        raise ProtocolError("ground truth: expected --relevance or vectors, got both.")
    with stages() as shown:
        found = evaluate(
            *codes(arguments),
            query_labels=arguments.query_labels,
            database_labels=arguments.database_labels,
            truth=truth if arguments.relevance is None else Relevant(arguments.relevance),
            metrics=arguments.metric,
            convention=arguments.convention,
            spread=arguments.spread,
            threads=arguments.threads,
            progress=shown,
        )
    others: list[Printed] = []
    query, database = (Codes(side, found.n_bits) for side in (found.codes.query, found.codes.database))
    if arguments.tables:
        relevance = Relevant(found.truth.relevance)
        tables, convention = arguments.tables, arguments.convention
        others.append(bucket_search(query, database, tables, truth=relevance, convention=convention))
    if arguments.lookup_radius is not None:
        others.append(lookup_time(query, database, radius=arguments.lookup_radius))
    write(arguments, found, others, trec)


def check_options(arguments: argparse.Namespace, inputs: Sequence[str | None]) -> "TrecOptions | None":
    """Check, before anything is computed, that the outputs can be written; return the options of TREC files."""
    from protocol.evaluation import TrecOptions
    from protocol.evaluation.exclusion import rows_from
    from protocol.provenance.storage import check_writable

    files = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OUTPUTS}
    folder = arguments.trec
    trec = {f"--trec {name}": folder and folder / name for name in ("run", "qrels")}
    vectors = [arguments.query_vectors, arguments.database_vectors]
    check_outputs(files | trec, [*inputs, *vectors, arguments.exclude_queries])
    for path in filter(None, files.values()):
        check_writable(path.parent)
    _check_ranking(arguments)
    if arguments.exclude_queries is not None:
        rows_from(arguments.exclude_queries)
    options = {name: getattr(arguments, f"trec_{name}") for name in ("depth", "ties", "seed")}
    options = {name: value for name, value in options.items() if value is not None}
    if folder is None and options:
        raise ProtocolError(f"--trec-{next(iter(options))} needs --trec DIR as well.")
    return None if folder is None else TrecOptions(folder, **options)


def _check_ranking(arguments: argparse.Namespace) -> None:
    if one_of(arguments.ranking, RANKINGS, "ranking") == "hamming":
        return
    for option in ("pr_curves", "tables", "lookup_radius", "trec"):
        if getattr(arguments, option, None) not in (None, []):
            raise ProtocolError(
                f"--{option.replace('_', '-')}: expected --ranking hamming, which has distances, got asymmetric."
            )


def codes(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Return the codes of queries and database with their encoding."""
    from protocol.evaluation import Codes, Outputs

    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    database = Codes(arguments.database_codes, *encoding)
    if arguments.ranking == "asymmetric":
        return Outputs(arguments.query_codes), database
    return Codes(arguments.query_codes, *encoding), database


def nearest(arguments: argparse.Namespace) -> "Nearest | None":
    """Return the nearest items as the ground truth; None without vectors."""
    from protocol.evaluation import Nearest

    options = {"neighbours": arguments.neighbours, "distance": arguments.distance}
    options["relevant-neighbours"] = arguments.relevant_neighbours
    if arguments.query_vectors is None and arguments.database_vectors is None:
        for option, value in options.items():
            if value is not None:
                raise ProtocolError(f"--{option} needs --query-vectors and --database-vectors as well.")
        return None
    k, distance, relevant = options.values()
    return Nearest(arguments.query_vectors, arguments.database_vectors, k, distance or "cosine", relevant)


def write(
    arguments: argparse.Namespace, found: "Evaluation", others: "Sequence[Printed]", trec: "TrecOptions | None"
) -> None:
    """Write the files that were requested, and print the results."""
    found = found.named(
        arguments.name, dataset=arguments.dataset, split=arguments.split, ground_truth=arguments.ground_truth
    )
    results = list(others)
    if arguments.exclude_queries is not None:
        results.insert(0, found.without(arguments.exclude_queries))
    if trec is not None:
        results.append(found.to_trec(trec))
    if arguments.per_query:
        found.write_per_query(arguments.per_query)
    if arguments.json:
        found.write_json(arguments.json, *results, per_query=arguments.per_query)
    if arguments.pr_curves:
        found.write_pr_curves(arguments.pr_curves)
    if arguments.top_n_curves:
        found.write_top_n_curves(arguments.top_n_curves)
    show("\n\n".join(map(str, [found, *results])))


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol evaluate`."""
    command = commands.add_parser(
        "evaluate",
        usage="protocol evaluate --query-codes F --database-codes F\n"
        "                         (--query-labels F --database-labels F | --relevance F |\n"
        "                          --query-vectors F --database-vectors F) [OPTION ...]",
        help="score your own binary codes",
        description="Rank the database for each query by the Hamming distance of the codes, and score the ranking.\n"
        "Files F: .npy, .npz:key, .h5:dataset, .mat:variable, .csv, .txt and others, one row for each item.",
        details=(__doc__ or "").partition("\n\n")[2],
        examples="""
            protocol evaluate --query-codes q.npy --database-codes d.npy \\
                              --query-labels q.csv --database-labels d.csv
            ... --binarize sign                            for real-valued outputs of a network
            ... --metric mAP@5000[retrieved] precision@r2  compute these metrics (protocol list metrics)
            ... --convention hashnet --json means.json     score as another tool does
            ... --spread                                   compare the values that are called mAP
        """,
    )
    add_files(command, "codes", "{} codes: 0/1, -1/+1 or packed bits")
    add_files(command, "labels", "{} labels; items that share a label are relevant")
    command.add_argument("--relevance", metavar="F", help="the relevant database items of each query")
    add_files(command, "vectors", "{} vectors; the items nearest to a query are relevant")
    add_scoring(command)
    lookup = command.rare("hash tables and lookups")
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
    command.set_defaults(run=_evaluate)


def add_files(command: "Parser", kind: str, text: str) -> None:
    """Add the options for files of queries and database."""
    for side in ("query", "database"):
        command.add_argument(f"--{side}-{kind}", metavar="F", help=text.format(side))


def add_scoring(command: "Parser") -> None:
    """Add the options of codes, scores and outputs."""
    command.add_argument("--n-bits", "--bits", type=int, metavar="B", help="code length of packed codes or of --hasher")
    command.add_argument(
        "--binarize", metavar="sign|median", help="threshold of real-valued outputs: 0, or each bit's median"
    )
    command.add_argument(
        "--metric", nargs="+", action="extend", metavar="NAME", help="metrics, or all (those of the convention)"
    )
    command.add_argument(
        "--convention", default="protocol", metavar="NAME", help="scoring convention, such as hashnet (protocol)"
    )
    command.add_argument("--spread", action="store_true", help="print every value that some convention calls mAP")
    command.add_argument("--json", type=Path, metavar="F", help="write the means and what identifies them")
    command.add_argument("--per-query", type=Path, metavar="F.csv", help="write the values of each query")

    packed = command.rare("packed and real-valued codes")
    packed.add_argument(
        "--bit-order",
        default="little",
        metavar="little|big|big-128",
        help="bit order of packed codes: the first bit has weight 1, or 128, or 128 with 128 subtracted (little)",
    )
    packed.add_argument(
        "--ranking",
        default="hamming",
        metavar="hamming|asymmetric",
        help="rank by Hamming distance, or by the inner product with the query's real values (hamming)",
    )

    vectors = command.rare("nearest items of vectors")
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

    files = command.rare("curves and files for trec_eval")
    files.add_argument("--pr-curves", type=Path, metavar="F.csv", help="write precision and recall at every radius")
    files.add_argument(
        "--top-n-curves", type=Path, metavar="F.csv", help="write precision and recall of the top N items for each N"
    )
    files.add_argument("--trec", type=Path, metavar="DIR", help="write run and qrels files")
    files.add_argument(
        "--trec-depth",
        type=int,
        metavar="K",
        help="number of items per query in the run (1000, or the database if smaller)",
    )
    files.add_argument(
        "--trec-ties",
        metavar="ORDER",
        help="order of ties in the run: expected spreads the relevant items evenly, so that mAP is close to its "
        "expected value; shuffled is a random order; distance writes equal scores, which trec_eval orders by document "
        "id (expected)",
    )
    files.add_argument("--trec-seed", type=int, metavar="SEED", help="seed of --trec-ties shuffled (0)")

    run = command.rare("excluded queries and threads")
    run.add_argument(
        "--exclude-queries",
        metavar="F",
        help="row numbers of queries, from 0, one per line: every metric is printed with and without them",
    )
    run.add_argument("--threads", type=int, default=1, metavar="N", help="threads of the search and the counting (1)")

    recorded = command.rare("names recorded with the scores")
    for field, text in (
        ("name", "codes in a comparison"),
        ("dataset", "dataset"),
        ("split", "split protocol"),
        ("ground-truth", "ground truth (an experiment's neighbours are, for example, 'epsilon_ball of gist')"),
    ):
        recorded.add_argument(f"--{field}", metavar="NAME", help=f"name of the {text}")

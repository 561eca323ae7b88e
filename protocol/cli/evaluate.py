"""`protocol evaluate`: scores of anyone's codes."""

import argparse
import ast
import contextlib
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages

if TYPE_CHECKING:
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
        from protocol.storage import check_writable

        check_writable(path.parent)  # now, not after minutes of counting
    if arguments.pr_curves and arguments.ranking == "asymmetric":
        raise ProtocolError("--pr-curves: expected --ranking hamming, whose radius they need, got asymmetric.")
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
    """Return the options that are written as key=value: numbers, True, False and None, and otherwise words."""
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


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol evaluate`."""
    command = commands.add_parser(
        "evaluate",
        help="score binary codes of your own under a named convention",
        description="Score the ranking of a database by the queries' codes, or by their real-valued outputs.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            files:
              F.npy  F.npz:key  F.h5:dataset  F.hdf5:dataset  F.mat:variable  F.csv  F.tsv  F.txt
              F.fbin  F.f16bin  F.u8bin  F.i8bin  F.ibin (big-ann-benchmarks)  F.fvecs  F.ivecs  F.bvecs
              The key may be left out where a file holds one array. Nothing is ever unpickled.
            codes:
              0 and 1, -1 and +1 or bool, one row per item, one column per bit; or packed uint8 with --n-bits.
              Packed by sentence-transformers: --bit-order big for ubinary, --bit-order big-128 for binary.
              Real-valued outputs need --binarize: sign (above 0) or median (above the median of the bit's values in the
              database); a value equal to the threshold becomes the bit 0.
            ranking:
              hamming: by the Hamming distance of the codes. asymmetric: by the inner product of each query's real
              values, which are not binarised, with the codes of the database as -1 and +1; the thresholds of
              --binarize are subtracted from the query's values. The results name the ranking.
            labels:
              an integer or a word per item, or a 0/1 matrix with one row per item. Items that share a label are
              relevant to each other.
            relevance, in place of labels:
              F.npz of scipy.sparse.save_npz (csr, n_queries x n_database, values are levels from 1 to 255, larger is
              more relevant); database positions, from 0, as a line of F.txt or a row of an array per
              query, such as ann-benchmarks' F.hdf5:neighbors; or a Boolean matrix (n_queries, n_database).
            vectors, in place of labels: what does a binary code lose?
              A row per item. The items nearest to a query by --distance are relevant; codes are given, or made of the
              vectors by --hasher (`protocol list hashers`), by default the sign of each dimension. F.npy, F.fbin and
              its like, and F.fvecs and F.bvecs are read in blocks.

            examples:
              protocol evaluate --query-codes q.npy --database-codes d.npy --query-labels q.csv --database-labels d.csv
              protocol evaluate --query-codes c.mat:tB --database-codes c.mat:B --n-bits 48 --relevance near.npz
              ... --binarize sign                                        outputs of a network
              ... --query-codes real.npy --ranking asymmetric            real-valued queries, binary database
              ... --metric mAP@5000[retrieved] precision@r2                some metrics; `protocol list metrics`
              ... --metric all --spread                                  everything, K = 1000 and R = 0, 1, 2
              ... --convention hashnet                                   as a tool does; `protocol list conventions`
              ... --spread                                               the values that the conventions call mAP
              ... --tables 16x4 --lookup-radius 2                        buckets: their precision, recall and speed
              ... --trec trec --trec-ties shuffled --trec-seed 1         files for trec_eval, and what its ties change
              ... --exclude-queries affected.txt                         every metric without some queries as well
              ... --json means.json --per-query values.csv               for a script, or a test of significance

            examples with vectors:
              protocol evaluate --query-vectors qv.npy --database-vectors dv.npy
              ... --query-codes q.npy --database-codes d.npy             codes of your own in place of the signs
              ... --hasher itq --bits 16 --train-vectors t.npy           codes of a hasher
              ... --distance euclidean --neighbours 10 --target 0.99     which items are near, and what to reach
              ... --bits 16 --rescore-bits 32 --measure-speed            re-ranking by a longer code; speed of a scan
            """
        ),
    )
    for side in ("query", "database"):
        command.add_argument(f"--{side}-codes", metavar="F", help=f"codes of the {side} items")
    for side in ("query", "database"):
        command.add_argument(f"--{side}-labels", metavar="F", help=f"labels of the {side} items")
    command.add_argument("--relevance", metavar="F", help="which database items are relevant to each query")
    _add_vectors(command)
    command.add_argument(
        "--n-bits", "--bits", type=int, metavar="B", help="code length of packed codes, or of those that --hasher makes"
    )
    command.add_argument(
        "--bit-order",
        default="little",
        metavar="little|big|big-128",
        help="of packed codes: the first bit has weight 1 or 128, or 128 with 128 subtracted (little)",
    )
    command.add_argument("--binarize", metavar="sign|median", help="how to make bits of real-valued outputs")
    command.add_argument(
        "--ranking",
        default="hamming",
        metavar="hamming|asymmetric",
        help="order the database by Hamming distance, or by the inner product with the query's real values (hamming)",
    )
    command.add_argument(
        "--metric",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="metrics, or all (those of the convention)",
    )
    command.add_argument("--convention", default="protocol", metavar="NAME", help="a convention (protocol)")
    command.add_argument("--spread", action="store_true", help="show the values that the conventions call mAP")
    command.add_argument(
        "--tables",
        action="append",
        default=[],
        metavar="KxL",
        help="search L hash tables of K bits each as well; repeatable",
    )
    command.add_argument(
        "--lookup-radius", type=int, metavar="R", help="measure the lookups of an inverted index up to radius R"
    )
    command.add_argument("--pr-curves", type=Path, metavar="F.csv", help="write precision and recall at every radius")
    command.add_argument(
        "--top-n-curves", type=Path, metavar="F.csv", help="write precision and recall of the top N items by N"
    )
    command.add_argument("--per-query", type=Path, metavar="F.csv", help="write the values of each query")
    command.add_argument("--json", type=Path, metavar="F", help="write the means and everything that identifies them")
    command.add_argument("--trec", type=Path, metavar="DIR", help="write run and qrels files for trec_eval")
    command.add_argument(
        "--trec-depth", type=int, metavar="K", help="items of each query in the run (1000, or the database if smaller)"
    )
    command.add_argument(
        "--trec-ties",
        metavar="ORDER",
        help="order of ties in the run: expected, relevant items spread evenly, so that mAP is close to its expected "
        "value; shuffled; or distance, equal scores, which trec_eval orders by document id (expected)",
    )
    command.add_argument("--trec-seed", type=int, metavar="SEED", help="for --trec-ties shuffled (0)")
    command.add_argument(
        "--exclude-queries",
        metavar="F",
        help="row numbers of queries, from 0, one a line: every metric is printed with and without them",
    )
    command.add_argument("--threads", type=int, default=1, metavar="N", help="for the search and the counting (1)")
    command.add_argument("--name", metavar="NAME", help="name of the codes in a comparison")
    for field, what in (
        ("dataset", "data set"),
        ("split", "split protocol"),
        ("ground-truth", "ground truth (an experiment's neighbours are, for example, 'epsilon_ball of gist')"),
    ):
        command.add_argument(f"--{field}", metavar="NAME", help=f"recorded with the scores: name of the {what}")
    command.set_defaults(run=_evaluate)


def _add_vectors(command: argparse.ArgumentParser) -> None:
    """Add the options for vectors."""
    for side in ("query", "database"):
        command.add_argument(f"--{side}-vectors", metavar="F", help=f"vectors of the {side} items")
    command.add_argument(
        "--distance",
        metavar="NAME",
        help="distance that decides which items are nearest: cosine, euclidean, or dot, the inner product (cosine)",
    )
    command.add_argument(
        "--neighbours", type=int, nargs="+", metavar="K", help="numbers of nearest items to look for (1 10 100)"
    )
    command.add_argument(
        "--relevant-neighbours",
        type=int,
        metavar="K",
        help="number of nearest items that are relevant in all other metrics (the largest of --neighbours)",
    )
    command.add_argument("--hasher", metavar="NAME", help="makes codes of the vectors (sign, if there are no codes)")
    command.add_argument(
        "--hasher-option", action="append", default=[], metavar="KEY=VALUE", help="an option of the hasher; repeatable"
    )
    command.add_argument(
        "--train-vectors",
        metavar="F",
        help="vectors that the hasher is fitted on (the database, or 10,000 of its rows drawn with --seed)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="SEED", help="of the hasher and of that sample (0)")
    command.add_argument(
        "--target",
        type=float,
        metavar="SHARE",
        help="share of the nearest items for which to find the smallest c, if c x K items are re-ranked (0.95)",
    )
    command.add_argument("--largest-factor", type=int, metavar="C", help="largest c of the curve (64)")
    command.add_argument(
        "--rescore-codes", nargs=2, metavar=("Q", "D"), help="second codes of queries and database, which re-rank"
    )
    command.add_argument("--rescore-hasher", metavar="NAME", help="makes second codes of the vectors (as --hasher)")
    command.add_argument(
        "--rescore-bits",
        type=int,
        metavar="B",
        help="length of the second codes (the dimension of the vectors)",
    )
    command.add_argument(
        "--measure-speed", action="store_true", help="measure the queries per second of our own exact scan"
    )

"""`protocol evaluate`: scores of anyone's codes."""

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.cli._output import check_outputs, show
from protocol.cli._progress import progress

if TYPE_CHECKING:
    from protocol.evaluation.trec import TrecOptions

_INPUTS = ("query_codes", "database_codes", "query_labels", "database_labels", "relevance")
_OUTPUTS = ("json", "per_query", "pr_curves", "top_n_curves")


def _evaluate(arguments: argparse.Namespace) -> None:
    from protocol import evaluation

    files = {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OUTPUTS}
    trec = {f"--trec {name}": arguments.trec and arguments.trec / name for name in ("run", "qrels")}
    check_outputs(files | trec, [getattr(arguments, name) for name in _INPUTS])
    for path in filter(None, files.values()):
        from protocol.storage import check_writable

        check_writable(path.parent)  # now, not after minutes of counting
    if arguments.pr_curves and arguments.ranking == "asymmetric":
        from protocol.checks import ProtocolError

        raise ProtocolError("--pr-curves: expected --ranking hamming, whose radius they need, got asymmetric.")
    with progress("counting", " queries") as shown:
        found = evaluation.evaluate(
            arguments.query_codes,
            arguments.database_codes,
            query_labels=arguments.query_labels,
            database_labels=arguments.database_labels,
            relevance=arguments.relevance,
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


def _trec_options(arguments: argparse.Namespace) -> "TrecOptions | None":
    from protocol.checks import ProtocolError
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
              F.fbin  F.f16bin  F.u8bin  F.i8bin  F.ibin (big-ann-benchmarks)
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
              ... --json means.json --per-query values.csv               for a script, or a test of significance
            """
        ),
    )
    for side in ("query", "database"):
        command.add_argument(f"--{side}-codes", required=True, metavar="F", help=f"codes of the {side} items")
    for side in ("query", "database"):
        command.add_argument(f"--{side}-labels", metavar="F", help=f"labels of the {side} items")
    command.add_argument("--relevance", metavar="F", help="which database items are relevant to each query")
    command.add_argument("--n-bits", type=int, metavar="B", help="code length of packed codes")
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
    command.add_argument("--threads", type=int, default=1, metavar="N", help="for the counting (1)")
    command.add_argument("--name", metavar="NAME", help="name of the codes in a comparison")
    for field, what in (
        ("dataset", "data set"),
        ("split", "split protocol"),
        ("ground-truth", "ground truth (an experiment's neighbours are, for example, 'epsilon_ball of gist')"),
    ):
        command.add_argument(f"--{field}", metavar="NAME", help=f"recorded with the scores: name of the {what}")
    command.set_defaults(run=_evaluate)

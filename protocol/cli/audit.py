"""`protocol audit`: leaks and imbalance in anyone's split."""

import argparse
import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, number

if TYPE_CHECKING:
    from protocol.auditing import Dataset, Run

_LISTS = ("query", "database", "train", "validation_query", "validation_database")


def _audit(arguments: argparse.Namespace) -> int:
    from protocol import auditing

    if arguments.json:
        from protocol.storage import check_writable

        check_writable(arguments.json.parent)
    dataset = auditing.known_dataset(arguments.ids, arguments.labels)
    runs = _runs(arguments, dataset)
    copies = _copies(arguments, runs[0])
    findings = auditing.audit_splits(runs, copies)
    for run in runs:
        findings[run.file] += auditing.audit_relevance(run.split)
        if arguments.pairs:
            findings[run.file] += auditing.audit_pairs(
                run.split, auditing.read_pairs(arguments.pairs, run.split.dataset)
            )
    if arguments.json:
        auditing.write_json(arguments.json, findings)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    by = {"copies": bool(copies), "pairs": bool(arguments.pairs)}
    told = {run.file: auditing.about(run, n_runs=len(runs), **by) for run in runs}
    shown = auditing.markdown(findings, told) if arguments.markdown else auditing.text(findings, told, colour=colour)
    sys.stdout.write(shown + "\n")
    return 1 if auditing.n_errors(findings) else 0


def _runs(arguments: argparse.Namespace, dataset: "Dataset") -> "list[Run]":
    from protocol import auditing

    lists = {part: file for part in _LISTS if (file := getattr(arguments, part))}
    if bool(lists) == bool(arguments.splits):
        raise ProtocolError("wanted either whole splits, SPLITS ..., or lists, --query F --database F")
    if lists:
        missing = [part for part in ("query", "database") if part not in lists]
        if missing:
            raise ProtocolError(f"wanted a list of the queries and one of the database, came no --{missing[0]}")
        return [auditing.read_lists(lists, dataset, protocol=arguments.protocol)]
    return auditing.read_runs(dict.fromkeys(arguments.splits), dataset, protocol=arguments.protocol)


def _copies(arguments: argparse.Namespace, run: "Run") -> dict[str, Any]:
    """Return what finds near-duplicates by the features that were given."""
    if not arguments.features:
        if arguments.distance is not None:
            raise ProtocolError("--distance is one between features: wanted --features F, too")
        return {}
    from protocol import auditing
    from protocol.formats.arrays import map_array

    X = map_array(arguments.features)
    dataset = run.split.dataset
    n_items = dataset.n_items or max(int(part.max()) + 1 for part in run.split.parts.values() if len(part))
    if dataset.n_items is None and dataset.ids is not None:
        raise ProtocolError("features are by row number, the lists by id: name the ids in the order of the rows, --ids")
    if X.ndim != 2 or len(X) < n_items or (dataset.n_items is not None and len(X) != n_items):
        raise ProtocolError(f"{arguments.features}: wanted features of {n_items:,} items (n, d), came shape {X.shape}")
    if arguments.distance:
        return {f"features within {arguments.distance:g}": auditing.within_distance(X, arguments.distance)}
    return {"equal features": auditing.equal_content(auditing.first_equal(X, arguments.features))}


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol audit`."""
    command = commands.add_parser(
        "audit",
        help="find leaks and imbalance in a split of your own",
        description="Look for whatever makes the numbers of a split wrong, or incomparable with those of the papers.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            splits:
              SPLITS.h5 as the pipeline leaves it, .npz (row numbers by partition) or .csv (lines `partition,id`).
              Several are runs of one protocol, and held against each other.
            lists, one for each partition:
              text (also .gz) with a line `id label label ...` (labels 0 or 1, or none), .csv, or row numbers as F.npy,
              F.npz:key, F.h5:dataset, F.mat:variable.
            exit status:
              0 clean, or warnings only; 1 errors; 2 the input can't be used.

            examples:
              protocol audit results/digits/splits/improved/run*/splits.h5   what the pipeline drew, all its runs
              protocol audit --query test.txt --database database.txt --train train.txt
              ... --protocol cifar10_s1                    hold it to a protocol; `protocol list splits`
              ... --ids ids.txt --features gist.npy        copies of an item under another id: equal features
              ... --ids ids.txt --features gist.npy --distance 0.1       or nearly equal ones
              protocol audit --query q.npy --database d.npy --labels y.npy  row numbers, with the labels of the rows
              ... --markdown >> $GITHUB_STEP_SUMMARY       for a pull request
              ... --json findings.json                     for a script
              protocol list findings                       what there is to find, and how the papers treat it
            """
        ),
    )
    command.add_argument("splits", nargs="*", metavar="SPLITS", help="whole splits")
    for part in _LISTS:
        command.add_argument(
            f"--{part.replace('_', '-')}", metavar="F", help=f"list of the {part.replace('_', ' ')} items"
        )
    command.add_argument("--protocol", metavar="NAME", help="the split protocol that was meant")
    command.add_argument("--ids", metavar="F", help="the dataset's ids in the order of the row numbers, one a line")
    command.add_argument("--labels", metavar="F", help="class labels in the order of the row numbers")
    command.add_argument("--features", metavar="F", help="features in the order of the row numbers, to find copies by")
    command.add_argument("--distance", type=_distance, metavar="D", help="Euclidean; up to it, items are copies (0)")
    command.add_argument("--pairs", metavar="F", help="ids of an item's two modalities a line, to find torn pairs by")
    command.add_argument("--markdown", action="store_true", help="print Markdown")
    command.add_argument("--json", type=Path, metavar="F", help="write the findings as a list of objects")
    command.set_defaults(run=_audit)


def _distance(text: str) -> float:
    try:
        return number(float(text), "distance")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error

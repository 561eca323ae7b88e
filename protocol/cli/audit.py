"""`protocol audit`: leaks and imbalance in anyone's split."""

import argparse
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError, number
from protocol.cli._output import check_outputs, show

if TYPE_CHECKING:
    from protocol.auditing import Audit

_LISTS = ("query", "database", "train", "validation_query", "validation_database")
_KNOWN = ("labels", "ids", "features", "distance", "pairs", "known_pairs", "protocol")


def _audit(arguments: argparse.Namespace) -> int:
    from protocol.auditing import audit

    files = {"--json": arguments.json, "--write-affected": arguments.write_affected}
    check_outputs(files, _inputs(arguments))
    for path in filter(None, files.values()):
        from protocol.storage import check_writable

        check_writable(path.parent)
    audited = audit(*arguments.splits, **{name: getattr(arguments, name) for name in (*_LISTS, *_KNOWN)})
    if arguments.json:
        from protocol.auditing import write_json

        write_json(arguments.json, audited.findings)
    if arguments.write_affected:
        _write_affected(arguments.write_affected, audited)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if colour and not arguments.markdown:
        sys.stdout.write(audited.to_text(colour=True) + "\n")
    else:
        show(audited.to_markdown() if arguments.markdown else audited.to_text())
    return 1 if arguments.fail_on != "never" and audited.fails(arguments.fail_on) else 0


def _write_affected(path: Path, audited: "Audit") -> None:
    """Write the places of the affected queries of one split, whose codes are in the order of its query list."""
    from protocol.auditing import write_affected

    if len(audited.findings) > 1:
        raise ProtocolError(
            f"--write-affected: expected one split, since each has queries of its own, got {len(audited.findings)}."
        )
    if not audited.affected:
        raise ProtocolError("--write-affected: expected a dataset with judged pairs (--known-pairs), got none.")
    write_affected(path, *audited.affected.values())


def _inputs(arguments: argparse.Namespace) -> Iterator[str | Path | None]:
    """Yield the files that the audit may read: those of the options, and the dataset of a split of the pipeline."""
    yield from (getattr(arguments, name) for name in (*_LISTS, *_KNOWN) if name not in ("distance", "protocol"))
    for split in arguments.splits:
        yield split
        for folder in Path(split).parents:
            yield from (folder / "items.h5", *folder.glob("datasets/*/items.h5"))


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
              0 no errors; 1 errors, or what --fail-on names; 2 the input can't be used.

            examples:
              protocol audit results/digits/splits/improved/run*/splits.h5   what the pipeline drew, all its runs
              protocol audit --query test.txt --database database.txt --train train.txt
              ... --protocol cifar10_s1                    hold it to a protocol; `protocol list splits`
              ... --ids ids.txt --features gist.npy        copies of an item under another id: equal features
              ... --ids ids.txt --features gist.npy --distance 0.1       or nearly equal ones
              protocol audit --query q.npy --database d.npy --labels y.npy  row numbers, with the labels of the rows
              ... --ids ids.txt --known-pairs cifar10      judged (near-)duplicates of the queries; the pipeline's
                                                           splits of cifar10 and cifar100 need no such option
              ... --known-pairs cifar10 --write-affected affected.txt    for `protocol evaluate --exclude-queries`
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
    command.add_argument(
        "--known-pairs",
        metavar="NAME|F",
        help="judged pairs of (near-)duplicates: cifar10, cifar100, or a table with query,database,judgement",
    )
    command.add_argument(
        "--write-affected",
        type=Path,
        metavar="F",
        help="write the row numbers of the queries with such a pair, for `protocol evaluate --exclude-queries`",
    )
    command.add_argument(
        "--fail-on",
        choices=("error", "warning", "information", "never"),
        default="error",
        help="the mildest finding that makes the exit status 1 (error)",
    )
    command.add_argument("--markdown", action="store_true", help="print Markdown")
    command.add_argument(
        "--json", type=Path, metavar="F", help="write the findings, with all items, as a list of objects"
    )
    command.set_defaults(run=_audit)


def _distance(text: str) -> float:
    try:
        return number(float(text), "distance")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error

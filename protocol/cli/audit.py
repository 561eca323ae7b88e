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
_FILES = ("labels", "ids", "features", "pairs", "known_pairs", "groups", "label_issues")
_KNOWN = (*_FILES, "distance", "protocol", "sizes", "against", "label_agreement", "training_log", "reported")


def _audit(arguments: argparse.Namespace) -> int:
    from protocol.auditing import audit

    files = {"--json": arguments.json, "--write-affected": arguments.write_affected}
    check_outputs(files, _inputs(arguments))
    for path in filter(None, files.values()):
        from protocol.storage import check_writable

        check_writable(path.parent)
    if arguments.write_fixed:
        if not (arguments.splits or arguments.query):
            raise ProtocolError("--write-fixed: expected a split, got none.")
        from protocol.auditing.fixing import check_folder

        check_folder(arguments.write_fixed)
    for name in (*_FILES, *_LISTS, "against"):
        if getattr(arguments, name) == "":
            raise ProtocolError(f"--{name.replace('_', '-')}: expected a file, got an empty name.")
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
    if arguments.write_fixed:
        show(f"\n{audited.write_fixed(arguments.write_fixed, also=arguments.fix_also)}")
    return 1 if arguments.fail_on != "never" and audited.fails(arguments.fail_on) else 0


def _write_affected(path: Path, audited: "Audit") -> None:
    """Write the places of the affected queries of one split, whose codes are in the order of its query list."""
    from protocol.auditing import write_affected

    if len(audited.runs) > 1:
        raise ProtocolError(
            f"--write-affected: expected one split, since each has queries of its own, got {len(audited.runs)}."
        )
    if not audited.affected:
        raise ProtocolError(
            "--write-affected: expected judged pairs of the dataset (--known-pairs), or label issues (--label-issues), "
            "got none."
        )
    write_affected(path, *audited.affected.values())


def _inputs(arguments: argparse.Namespace) -> Iterator[str | Path | None]:
    """Yield the files that the audit may read: those of the options, and the dataset of a split of the pipeline."""
    yield from (getattr(arguments, name) for name in (*_LISTS, *_FILES))
    if arguments.against:
        yield from (entry.rpartition("=")[2] for entry in arguments.against.split(","))
    for log in arguments.training_log or ():
        yield from (log, log.rpartition(":")[0] or None)
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
              SPLITS.h5 as the pipeline writes it, .npz (row numbers by partition) or .csv (lines `partition,id`).
              Several are runs of one protocol, and are compared with each other.
            lists, one for each partition:
              text (also .gz) with a line `id label label ...` (labels 0 or 1, or none), .csv, or row numbers as F.npy,
              F.npz:key, F.h5:dataset; ids (strings) may be F.npy or F.npz:key, too.
            training logs:
              .csv with columns such as epoch and test_map (or TensorBoard's export), .json (records, lists by name, or
              a record a line), or printed text with lines such as `epoch:10, MAP:0.782, Best MAP: 0.797`. F:COLUMN
              names the column of the test scores. Columns named val... are those of a validation set, to choose by.
            exit status:
              0 no errors; 1 errors, or what --fail-on names; 2 the input can't be used.

            examples:
              protocol audit results/digits/splits/improved/run*/splits.h5   what the pipeline drew, all its runs
              protocol audit --query test.txt --database database.txt --train train.txt
              ... --protocol cifar10_s1                    compare it with a protocol; `protocol list splits`
              ... --ids ids.txt --features gist.npy        copies of an item under another id: equal features
              ... --ids ids.txt --features gist.npy --distance 0.1       or nearly equal ones
              protocol audit --query q.npy --database d.npy --labels y.npy  row numbers, with the labels of the rows
              ... --groups patients.csv                    groups (lines `id,group`) that are divided between partitions
              ... --groups auto                            groups that the file names suggest; a guess
              ... --label-issues cifar10h-probs.npy        queries whose label other annotators doubt
              protocol audit --training-log log.csv --reported 0.797   is it the best of several test evaluations?
              ... --ids ids.txt --known-pairs cifar10      judged (near-)duplicates of the queries; the pipeline's
                                                           splits of cifar10 and cifar100 need no such option
              ... --known-pairs cifar10 --write-affected affected.txt    for `protocol evaluate --exclude-queries`
              ... --markdown >> $GITHUB_STEP_SUMMARY       for a pull request
              ... --json findings.json                     for a script
              ... --write-fixed fixed/                     the lists without the items in the wrong place, and a log
              ... --sizes query=1000,train=5000            sizes that you expect, where no protocol is declared
              ... --against cifar10_s1                     a table of what differs from a protocol
              ... --against other/splits.h5                items that moved from one partition to another
              ... --against query=q.txt,database=d.txt     the same, for another split in lists
              protocol list findings                       what there is to find, and how the papers treat it
            """
        ),
    )
    command.add_argument("splits", nargs="*", metavar="SPLITS", help="complete splits")
    for part in _LISTS:
        command.add_argument(
            f"--{part.replace('_', '-')}", metavar="F", help=f"list of the {part.replace('_', ' ')} items"
        )
    command.add_argument("--protocol", metavar="NAME", help="the split protocol that was meant")
    command.add_argument(
        "--sizes",
        type=_sizes,
        metavar="PART=N,...",
        help="sizes that the partitions are expected to have, in place of those of the protocol",
    )
    command.add_argument(
        "--against",
        metavar="NAME|FILE",
        help="compare with a protocol, with another complete split, or with the lists query=F,database=F,...",
    )
    command.add_argument("--ids", metavar="F", help="the dataset's ids in the order of the row numbers, one a line")
    command.add_argument("--labels", metavar="F", help="class labels in the order of the row numbers")
    command.add_argument("--features", metavar="F", help="features in the order of the row numbers, to find copies by")
    command.add_argument("--distance", type=_distance, metavar="D", help="Euclidean; up to it, items are copies (0)")
    command.add_argument("--pairs", metavar="F", help="ids of an item's two modalities a line, to find torn pairs by")
    command.add_argument(
        "--groups", metavar="F", help="groups (video, patient, scene): lines `id,group`, or a group a line; or `auto`"
    )
    command.add_argument(
        "--label-issues", metavar="F", help="doubted labels: annotators by class (.npy), or a .csv or .json of doubts"
    )
    command.add_argument(
        "--label-agreement",
        type=_share,
        metavar="S",
        help="share of annotators below which a label is doubtful (0.5)",
    )
    command.add_argument(
        "--training-log",
        action="append",
        metavar="F",
        help="scores by epoch, also without a split; F:COLUMN names the test scores; may be repeated",
    )
    command.add_argument("--reported", metavar="SCORE", help="the score that is reported of the training logs")
    command.add_argument(
        "--known-pairs",
        metavar="NAME|F",
        help="judged pairs of (near-)duplicates: cifar10, cifar100, or a table with query,database,judgement",
    )
    command.add_argument(
        "--write-affected",
        type=Path,
        metavar="F",
        help="write the row numbers of the queries with such a pair or a doubtful label, for `protocol evaluate "
        "--exclude-queries`",
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
    command.add_argument(
        "--write-fixed",
        type=Path,
        metavar="DIR",
        help="write the lists without the items that are errors or near-duplicates, with a log, and audit them again",
    )
    command.add_argument(
        "--fix-also",
        action="append",
        default=[],
        metavar="FINDING",
        help="a warning that --write-fixed should also fix, such as train-in-database; may be repeated",
    )
    command.set_defaults(run=_audit)


def _distance(text: str) -> float:
    try:
        return number(float(text), "distance")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _sizes(text: str) -> dict[str, int]:
    sizes = {}
    for entry in text.split(","):
        part, _, size = entry.partition("=")
        if part not in _LISTS or not size.isdecimal() or part in sizes:
            raise argparse.ArgumentTypeError(f"expected PART=N,... (PART one of {', '.join(_LISTS)}), got {text!r}.")
        sizes[part] = int(size)
    return sizes


def _share(text: str) -> float:
    try:
        share = number(float(text), "label agreement")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if share > 1:
        raise argparse.ArgumentTypeError(f"label agreement: expected a share from 0 to 1, got {text}.")
    return share

"""`protocol audit`: leaks and imbalance in anyone's split."""

import argparse
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protocol.checks import number
from protocol.cli._output import check_outputs, show

_LISTS = ("query", "database", "train", "validation_query", "validation_database")
_KNOWN = ("labels", "ids", "features", "distance", "pairs", "protocol")


def _audit(arguments: argparse.Namespace) -> int:
    from protocol.auditing import audit

    check_outputs({"--json": arguments.json}, _inputs(arguments))
    if arguments.json:
        from protocol.storage import check_writable

        check_writable(arguments.json.parent)
    if arguments.write_fixed:
        from protocol.auditing.mending import check_folder

        check_folder(arguments.write_fixed)
    audited = audit(*arguments.splits, **{name: getattr(arguments, name) for name in (*_LISTS, *_KNOWN)})
    if arguments.json:
        from protocol.auditing import write_json

        write_json(arguments.json, audited.findings)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if colour and not arguments.markdown:
        sys.stdout.write(audited.to_text(colour=True) + "\n")
    else:
        show(audited.to_markdown() if arguments.markdown else audited.to_text())
    if arguments.write_fixed:
        show(f"\n{audited.write_fixed(arguments.write_fixed, also=arguments.fix_also)}")
    return 1 if arguments.fail_on != "never" and audited.fails(arguments.fail_on) else 0


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
              ... --markdown >> $GITHUB_STEP_SUMMARY       for a pull request
              ... --json findings.json                     for a script
              ... --write-fixed fixed/                     the lists without the items in the wrong place, and a log
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
        help="a warning that --write-fixed mends as well, such as train-in-database; may be repeated",
    )
    command.set_defaults(run=_audit)


def _distance(text: str) -> float:
    try:
        return number(float(text), "distance")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error

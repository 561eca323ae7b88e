"""`protocol audit`: find leaks and imbalance in your own split."""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.checks import ProtocolError, number
from protocol.cli._output import check_outputs, show

if TYPE_CHECKING:
    from protocol.auditing import Audit
    from protocol.cli._help import Parser

_LISTS = ("query", "database", "train", "validation_query", "validation_database")
_EVIDENCE = ("features", "pairs", "known_pairs", "groups", "label_issues")
_FILES = ("labels", "ids", *_EVIDENCE)
_OPTIONS = ("labels", "ids", "protocol", "sizes", "against", "training_log", "reported")


def _audit(arguments: argparse.Namespace) -> int:
    from protocol.auditing import Evidence, audit

    files = {"--json": arguments.json, "--write-affected": arguments.write_affected}
    check_outputs(files, _inputs(arguments))
    for path in filter(None, files.values()):
        from protocol.provenance.storage import check_writable

        check_writable(path.parent)
    if arguments.write_fixed:
        if not (arguments.splits or arguments.query):
            raise ProtocolError("--write-fixed: expected a split, got none.")
        from protocol.auditing.output.fixing import check_folder

        check_folder(arguments.write_fixed)
    for name in (*_FILES, *_LISTS, "against"):
        if getattr(arguments, name) == "":
            raise ProtocolError(f"--{name.replace('_', '-')}: expected a file, got an empty name.")
    values = vars(arguments)
    evidence = Evidence(**{name: values[name] for name in (*_EVIDENCE, "distance", "label_agreement")})
    audited = audit(*arguments.splits, evidence=evidence, **{name: values[name] for name in (*_LISTS, *_OPTIONS)})
    if arguments.json:
        from protocol.auditing.output.texts import write_json

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
    """Write the row numbers of the affected queries of one split, in the order of its query list."""
    from protocol.provenance.storage import replacing

    if len(audited.runs) > 1:
        raise ProtocolError(
            f"--write-affected: expected one split, since splits have different queries, got {len(audited.runs)}."
        )
    if not audited.affected:
        raise ProtocolError(
            "--write-affected: expected judged pairs of the dataset (--known-pairs), or label issues (--label-issues), "
            "got none."
        )
    (positions,) = audited.affected.values()
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{position}\n" for position in positions), encoding="utf-8")


def _inputs(arguments: argparse.Namespace) -> Iterator[str | Path | None]:
    """Yield the files that the audit may read: those that options name, and the dataset of a pipeline's split."""
    yield from (getattr(arguments, name) for name in (*_LISTS, *_FILES))
    if arguments.against:
        yield from (entry.rpartition("=")[2] for entry in arguments.against.split(","))
    for log in arguments.training_log or ():
        yield from (log, log.rpartition(":")[0] or None)
    for split in arguments.splits:
        yield split
        for folder in Path(split).parents:
            yield from (folder / "items.h5", *folder.glob("datasets/*/items.h5"))


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol audit`."""
    command = commands.add_parser(
        "audit",
        usage="protocol audit SPLITS [SPLITS ...] [OPTION ...]\n"
        "       protocol audit --query F --database F [--train F] [OPTION ...]",
        help="find leaks and imbalance in your own split",
        description="Find errors in a split that make its scores wrong, or not comparable with those of the papers.\n"
        "Lists F: one item per line (`id` or `id label ...`), or row numbers as .npy, .npz:key or .h5:dataset.",
        examples="""
            protocol audit --query test.txt --database database.txt --train train.txt
            ... --protocol cifar10_s1            compare with a protocol (protocol list splits)
            ... --json findings.json             write the findings for a script
            ... --write-fixed fixed/             write the lists without the wrongly placed items
            protocol audit results/digits/splits/improved/run*/splits.h5   audit all runs of the pipeline
            protocol audit --training-log log.csv --reported 0.797         was the best epoch reported?
            protocol list findings               list the errors that the audit can find
        """,
        details=_DETAILS,
    )
    command.add_argument(
        "splits",
        nargs="*",
        metavar="SPLITS",
        help="complete splits, one per run (.h5, .npz or .csv)",
    )
    for part in _LISTS[:3]:
        contents = {"query": "queries", "database": "database items", "train": "training items"}[part]
        command.add_argument(f"--{part}", metavar="F", help=f"list of the {contents}")
    command.add_argument("--labels", metavar="F", help="class labels of all items, by row number")
    command.add_argument("--ids", metavar="F", help="ids of all items, by row number, one per line")
    command.add_argument("--features", metavar="F", help="features of all items, by row number, to find copies")
    command.add_argument("--protocol", metavar="NAME", help="the intended split protocol")
    command.add_argument(
        "--known-pairs",
        metavar="NAME|F",
        help="judged near-duplicates: cifar10, cifar100, or a table query,database,judgement",
    )
    command.add_argument(
        "--fail-on",
        choices=("error", "warning", "information", "never"),
        default="error",
        help="the least severe finding for which the exit status is 1 (error)",
    )
    command.add_argument("--markdown", action="store_true", help="print Markdown")
    command.add_argument("--json", type=Path, metavar="F", help="write the findings, with all items, as JSON")
    command.add_argument(
        "--write-fixed",
        type=Path,
        metavar="DIR",
        help="write lists without the items that cause errors or are near-duplicates, and audit them",
    )
    _add_rare(command)
    command.set_defaults(run=_audit)


def _add_rare(command: "Parser") -> None:
    """Add the options that only the complete help describes."""
    partitions = command.rare("validation sets and expected sizes")
    for part in _LISTS[3:]:
        contents = {"validation_query": "validation queries", "validation_database": "validation database"}[part]
        partitions.add_argument(f"--{part.replace('_', '-')}", metavar="F", help=f"list of the {contents}")
    partitions.add_argument(
        "--sizes",
        type=_sizes,
        metavar="PART=N,...",
        help="expected sizes of the partitions, instead of those of the protocol",
    )
    partitions.add_argument(
        "--against",
        metavar="NAME|FILE",
        help="compare with a protocol, another complete split, or the lists query=F,database=F,...",
    )

    items = command.rare("copies, pairs, groups and doubtful labels")
    items.add_argument(
        "--distance", type=_distance, metavar="D", help="largest Euclidean distance between the features of copies (0)"
    )
    items.add_argument(
        "--pairs", metavar="F", help="the ids of an item's two modalities, one pair per line, to find separated pairs"
    )
    items.add_argument(
        "--groups",
        metavar="F",
        help="groups (video, patient, scene): lines `id,group`, or one group per line; `auto`; or `re:PATTERN`",
    )
    items.add_argument(
        "--label-issues",
        metavar="F",
        help="doubtful labels: annotators' votes by class (.npy), or a list of doubts (.csv or .json)",
    )
    items.add_argument(
        "--label-agreement",
        type=_share,
        metavar="S",
        help="share of annotators below which a label is doubtful (0.5)",
    )

    logs = command.rare("training logs")
    logs.add_argument(
        "--training-log",
        action="append",
        metavar="F",
        help="scores by epoch; needs no split; F:COLUMN names the test scores; may be repeated",
    )
    logs.add_argument("--reported", metavar="SCORE", help="the score that the authors report, to compare with the logs")

    written = command.rare("affected queries and fixes")
    written.add_argument(
        "--write-affected",
        type=Path,
        metavar="F",
        help="write the row numbers of the queries with a near-duplicate or a doubtful label, for `protocol evaluate "
        "--exclude-queries`",
    )
    written.add_argument(
        "--fix-also",
        action="append",
        default=[],
        metavar="FINDING",
        help="a warning that --write-fixed also fixes, such as train-in-database; may be repeated",
    )


_DETAILS = """
    splits:
      splits.h5 of the pipeline, .npz (row numbers by partition) or .csv (lines `partition,id`). Several
      splits are taken as runs of one protocol, and are compared with each other.

    lists, one for each partition:
      Text (also .gz) with lines `id label label ...` (labels are 0 or 1, and may be missing), .csv, or row
      numbers as F.npy, F.npz:key or F.h5:dataset. Ids (strings) may also be in F.npy or F.npz:key.

    training logs:
      .csv with columns such as epoch and test_map (or TensorBoard's export), .json (records, lists by
      name, or one record per line), or printed text with lines such as `epoch:10, MAP:0.782, Best MAP:
      0.797`. F:COLUMN names the column of the test scores. Columns named val... have validation scores.

    exit status:
      0: no errors; 1: errors, or findings as severe as --fail-on; 2: the input can't be used.

    more examples:
      protocol audit --query test.txt --database database.txt --train train.txt
      ... --ids ids.txt --features gist.npy                   copies: equal features under another id
      ... --ids ids.txt --features gist.npy --distance 0.1    nearly equal features
      ... --groups patients.csv                               groups that partitions share
      ... --groups auto                                       groups derived from the file names
      ... --groups 're:(.*)_frame'                            groups by a regular expression with one group
      ... --label-issues cifar10h-probs.npy                   queries with labels that annotators doubt
      ... --ids ids.txt --known-pairs cifar10                 near-duplicates of the queries
      ... --known-pairs cifar10 --write-affected affected.txt
      ... --markdown >> $GITHUB_STEP_SUMMARY                  a summary for a pull request
      ... --sizes query=1000,train=5000                       expected sizes, without a protocol
      ... --against cifar10_s1                                differences from a protocol
      ... --against other/splits.h5                           items that moved between partitions
      ... --against query=q.txt,database=d.txt                the same for a split in lists
      protocol audit --query q.npy --database d.npy --labels y.npy     row numbers, and labels of the rows
"""


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

"""`protocol claims`: what the papers state, and what of it holds."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from protocol.cli._output import check_outputs, show
from protocol.cli._progress import progress


def _claims(arguments: argparse.Namespace) -> None:
    from protocol import claims
    from protocol.checks import one_of
    from protocol.storage import check_writable

    folder = arguments.results or Path("results")
    check_outputs({"--json": arguments.json}, folder.rglob("*.csv") if arguments.json else ())
    for status in arguments.status:
        one_of(status, claims.STATUSES, "status")
    if arguments.json:
        check_writable(arguments.json.parent)
    with progress("checking", " claims") as shown:
        entries = claims.ledger(arguments.results, arguments.id, progress=shown)
    entries = [entry for entry in entries if not arguments.status or entry["status"] in arguments.status]
    if arguments.json:
        claims.write_json(arguments.json, entries)
    if arguments.markdown:
        text = claims.markdown(entries)
    elif arguments.id:
        text = "\n\n".join(map(claims.full, entries))
    else:
        text = claims.table(entries)
    show(text)


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol claims`."""
    command = commands.add_parser(
        "claims",
        help="check what the papers claim, each claim by computing it",
        description="Check the papers' claims with this project's own code, and print what became of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            statuses:
              proved, refuted                     arithmetic, enumeration or a counter-example decides it
              replicated, not replicated          with the paper's data and method, within the tolerance
              replicated on a substitute,         with other features or networks than the paper's;
              not replicated on a substitute      the part of the entry names them
              partly                              some parts hold and others do not, or some were not run
              not run                             no part can be decided; the note says what is missing

            No status is entered by hand: each part of a claim is computed and compared with what the paper says, within
            the tolerance. Proofs need no data. Claims about data read the tables in the folder of results: summary.csv
            of every experiment that was run, and the stored reference results in its folder reference/. Their status
            changes with these tables.

            examples:
              protocol claims                          every claim, paper by paper, and the totals
              protocol claims S4-03 S0-06              these in full: expected, ours, what explains it
              protocol claims --status refuted         those of one status
              protocol claims --json claims.json       for a script: id, paper, place, claim, expected, ours, ...
            """
        ),
    )
    command.add_argument("id", nargs="*", metavar="ID", help="print these claims in full")
    command.add_argument(
        "--status", action="append", default=[], metavar="STATUS", help="claims of this status only; repeatable"
    )
    command.add_argument("--results", type=Path, metavar="DIR", help="what runs left (results, where it is there)")
    command.add_argument(
        "--markdown", action="store_true", help="print the totals, and the claims that do not hold, as tables"
    )
    command.add_argument("--json", type=Path, metavar="F", help="write them as a list of objects, too")
    command.set_defaults(run=_claims)

"""`protocol claims`: check the claims of the papers."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.cli._output import check_outputs, show
from protocol.cli._progress import progress

if TYPE_CHECKING:
    from protocol.cli._help import Parser


def _claims(arguments: argparse.Namespace) -> None:
    from protocol import papers
    from protocol.checks import one_of
    from protocol.provenance.storage import check_writable

    folder = arguments.results or Path("results")
    check_outputs({"--json": arguments.json}, folder.rglob("*.csv") if arguments.json else ())
    for status in arguments.status:
        one_of(status, papers.STATUSES, "status")
    if arguments.json:
        check_writable(arguments.json.parent)
    with progress("checking", " claims") as shown:
        entries = papers.ledger(arguments.results, arguments.id, progress=shown)
    entries = [entry for entry in entries if not arguments.status or entry["status"] in arguments.status]
    if arguments.json:
        papers.write_ledger(arguments.json, entries)
    if arguments.markdown:
        text = papers.ledger_markdown(entries)
    elif arguments.id:
        text = "\n\n".join(map(papers.entry_text, entries))
    else:
        text = papers.ledger_text(entries)
    show(text)


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol claims`."""
    command = commands.add_parser(
        "claims",
        help="check the claims of the papers",
        description="Check the claims of the papers, and print the status of each. Proofs need no data; claims about "
        "data are checked against the tables in the folder of results.",
        examples="""
            protocol claims                          list every claim by paper, and the totals
            protocol claims S4-03 S0-06              print two claims in full: the paper's value and ours
            protocol claims --status refuted         list the claims with this status
            protocol claims --json claims.json       also write the claims for a script
        """,
        details="""
            statuses:
              proved, refuted                  decided by arithmetic, enumeration or a counter-example
              replicated, not replicated       with the paper's data and method, within the tolerance
              replicated on a substitute,      with features or networks other than the paper's,
              not replicated on a substitute   which the entry names
              some parts fail                  the others hold, are not decided, or were not run
              holds as far as run              some parts were not run or are not decided
              not decided                      undefined values, or differences within their intervals
              not run                          no part was computed; the note explains why

            No status is entered by hand: each part of a claim is computed and compared with the value
            in the paper, within the tolerance. Claims about data are checked against summary.csv of every
            experiment in the folder of results, and the stored reference results in its folder reference/.
            Their status changes with these tables.
        """,
    )
    command.add_argument("id", nargs="*", metavar="ID", help="print these claims in full")
    command.add_argument(
        "--status",
        action="append",
        default=[],
        metavar="STATUS",
        help="print only claims with this status; may be repeated",
    )
    command.add_argument("--results", type=Path, metavar="DIR", help="the folder of results (results, if it exists)")
    command.add_argument(
        "--markdown", action="store_true", help="print the totals and the claims that do not hold as tables"
    )
    command.add_argument("--json", type=Path, metavar="F", help="also write the claims as a list of objects")
    command.set_defaults(run=_claims)

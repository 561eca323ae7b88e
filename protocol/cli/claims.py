"""`protocol claims`: check the claims of the papers."""

import argparse
from pathlib import Path

from protocol.cli._output import check_outputs, show
from protocol.cli._progress import progress


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol claims`."""
    from protocol import papers
    from protocol.checks import one_of

    folder = arguments.results or Path("results")
    check_outputs({"--json": arguments.json}, folder.rglob("*.csv") if arguments.json else ())
    for status in arguments.status:
        one_of(status, papers.STATUSES, "--status")
    with progress("checking", " claims") as report:
        entries = papers.ledger(arguments.results, arguments.id, progress=report)
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

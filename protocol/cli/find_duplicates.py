"""`protocol find-duplicates`: propose pairs of images or vectors that may be near-duplicates."""

import argparse

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, passed, show
from protocol.progress import report


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol find-duplicates`. Outputs are checked before minutes of comparing."""
    from protocol.auditing.duplicates import contact_sheet, find_duplicates

    outputs = {"--csv": arguments.csv, "--sheet": arguments.sheet}
    check_outputs(outputs, passed(arguments, "query", "database", "query_ids", "database_ids").values())
    if arguments.sheet:
        if arguments.vectors:
            raise ProtocolError("--sheet can't show --vectors. Add a column judgement to the file of --csv instead.")
        need("jinja2", "report")
        need("cv2", "pipeline")
    options = passed(arguments, "vectors", "query_ids", "database_ids", "most", "least", "threads")
    proposals = find_duplicates(arguments.query, arguments.database, progress=report, **options)
    if arguments.csv:
        proposals.to_csv(arguments.csv)
    if arguments.sheet:
        contact_sheet(arguments.sheet, proposals, arguments.query, arguments.database)
    show(str(proposals))

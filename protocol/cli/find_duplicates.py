"""`protocol find-duplicates`: propose pairs of images or vectors that may be near-duplicates."""

import argparse
import itertools
from pathlib import Path

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages

_NEEDS_VECTORS = {"sheet": False, "exact": True, "no_mirror": False}
"""For options that apply to vectors or to images alone, whether they need vectors."""


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol find-duplicates`."""
    from protocol.duplicates import contact_sheet, find_duplicate_vectors, find_duplicates

    _check(arguments)
    options = {name: getattr(arguments, name) for name in ("query_ids", "database_ids", "most", "threads")}
    options |= {} if arguments.least is None else {"least": arguments.least}
    with stages() as report:
        if arguments.vectors:
            options |= {"exact": arguments.exact or None}
            proposals = find_duplicate_vectors(arguments.query, arguments.database, progress=report, **options)
        else:
            options |= {"mirror": not arguments.no_mirror}
            proposals = find_duplicates(arguments.query, arguments.database, progress=report, **options)
    if arguments.csv:
        proposals.to_csv(arguments.csv)
    if arguments.sheet:
        contact_sheet(arguments.sheet, proposals, arguments.query, arguments.database)
    show(proposals.to_text())


def _check(arguments: argparse.Namespace) -> None:
    """Refuse outputs that can't be written and options that do not apply, before minutes of comparing."""
    from protocol.duplicates import image_files

    outputs = {"--csv": arguments.csv, "--sheet": arguments.sheet}
    inputs = [arguments.query, arguments.database, arguments.query_ids, arguments.database_ids]
    if not arguments.vectors and any(map(Path.exists, filter(None, outputs.values()))):
        inputs += itertools.chain.from_iterable(map(image_files, filter(None, inputs[:2])))
    check_outputs(outputs, inputs)
    for name, needs_vectors in _NEEDS_VECTORS.items():
        if getattr(arguments, name) and arguments.vectors != needs_vectors:
            problem = "needs --vectors as well" if needs_vectors else "can't be combined with --vectors"
            raise ProtocolError(f"--{name.replace('_', '-')} {problem}.")
    if arguments.sheet:
        need("jinja2", "report")
        need("cv2", "pipeline")

"""`protocol find-duplicates`: propose pairs of images or vectors that may be near-duplicates."""

import argparse

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol find-duplicates`."""
    from protocol.duplicates import contact_sheet, find_duplicate_vectors, find_duplicates, image_files

    outputs = {"--csv": arguments.csv, "--sheet": arguments.sheet}
    inputs = [arguments.query, arguments.database, arguments.query_ids, arguments.database_ids]
    if not arguments.vectors and any(path is not None and path.exists() for path in outputs.values()):
        inputs += [file for images in inputs[:2] if images is not None for file in image_files(images)]
    check_outputs(outputs, inputs)
    for path in filter(None, outputs.values()):
        from protocol.provenance.storage import check_writable

        check_writable(path.parent)  # before minutes of comparing
    if arguments.vectors and arguments.sheet:
        raise ProtocolError("--sheet: expected images, got --vectors.")
    if arguments.exact and not arguments.vectors:
        raise ProtocolError("--exact: expected --vectors with it, got images.")
    if arguments.no_mirror and arguments.vectors:
        raise ProtocolError("--no-mirror: expected images, got --vectors.")
    if arguments.sheet:
        need("jinja2", "report")
        need("cv2", "pipeline")
    options = {name: getattr(arguments, name) for name in ("query_ids", "database_ids", "most", "threads")}
    options |= {} if arguments.least is None else {"least": arguments.least}
    with stages() as shown:
        if arguments.vectors:
            options |= {"exact": arguments.exact or None}
            proposals = find_duplicate_vectors(arguments.query, arguments.database, progress=shown, **options)
        else:
            options |= {"mirror": not arguments.no_mirror}
            proposals = find_duplicates(arguments.query, arguments.database, progress=shown, **options)
    if arguments.csv:
        proposals.to_csv(arguments.csv)
    if arguments.sheet:
        contact_sheet(arguments.sheet, proposals, arguments.query, arguments.database)
    show(proposals.to_text())

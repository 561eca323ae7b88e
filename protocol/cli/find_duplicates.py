"""`protocol find-duplicates`: pairs of images or vectors that may be near-duplicates, in order of suspicion."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages


def _find_duplicates(arguments: argparse.Namespace) -> None:
    from protocol.auditing.duplicates import contact_sheet, find_duplicates, image_files

    outputs = {"--csv": arguments.csv, "--sheet": arguments.sheet}
    inputs = [arguments.query, arguments.database, arguments.query_ids, arguments.database_ids]
    if not arguments.vectors and any(path is not None and path.exists() for path in outputs.values()):
        inputs += [file for images in inputs[:2] if images is not None for file in image_files(images)]
    check_outputs(outputs, inputs)
    for path in filter(None, outputs.values()):
        from protocol.storage import check_writable

        check_writable(path.parent)  # now, not after minutes of comparing
    if arguments.vectors and arguments.sheet:
        raise ProtocolError("--sheet: expected images, got --vectors.")
    if arguments.exact and not arguments.vectors:
        raise ProtocolError("--exact: expected --vectors with it, got images.")
    if arguments.no_mirror and arguments.vectors:
        raise ProtocolError("--no-mirror: expected images, got --vectors.")
    if arguments.sheet:
        need("jinja2", "report")
        need("cv2", "pipeline")
    with stages() as shown:
        found = find_duplicates(
            arguments.query,
            arguments.database,
            kind="vectors" if arguments.vectors else "images",
            query_ids=arguments.query_ids,
            database_ids=arguments.database_ids,
            most=arguments.most,
            least=arguments.least,
            mirror=not arguments.no_mirror,
            exact=arguments.exact or None,
            threads=arguments.threads,
            progress=shown,
        )
    if arguments.csv:
        found.to_csv(arguments.csv)
    if arguments.sheet:
        contact_sheet(arguments.sheet, found, arguments.query, arguments.database)
    show(found.to_text())


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the command `protocol find-duplicates`."""
    command = commands.add_parser(
        "find-duplicates",
        help="propose near-duplicates among images or vectors of your own",
        description="Propose pairs of a query and a database item that may be near-duplicates, the most suspicious "
        "first. A person judges them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=textwrap.dedent(
            """\
            images:
              uint8 (n, height, width) or (n, height, width, 3) as F.npy, F.npz:key or F.h5:dataset; a folder of image
              files; or content.h5 of a dataset of the pipeline. Sizes may differ: the central square of every image is
              compared at 32 x 32 pixels. Copies are found after small shifts, crops of up to about a tenth, changes of
              brightness and contrast, JPEG compression, and mirrored.
            vectors (--vectors):
              numbers (n, d) as F.npy, F.npz:key, F.h5:dataset, F.fbin, F.fvecs; pairs in order of their cosine.
            output:
              the first proposals as text, with the precision and recall to expect. --csv has all pairs: query,
              database, score, rank (of the query), choice (1: the best partner of the query). --sheet is a page on
              which a person judges the pairs; it saves them as CSV for `protocol audit --known-pairs`.

            examples:
              protocol find-duplicates --query test.npy --database train.npy --csv pairs.csv --sheet pairs.html
              protocol find-duplicates --query photos/                       a folder, compared with itself
              protocol find-duplicates --query q.npy --database d.npy --vectors --least 0.98 --threads 2
            """
        ),
    )
    command.add_argument("--query", required=True, metavar="Q", help="images, or vectors, of the queries")
    command.add_argument("--database", metavar="D", help="those they are compared with (the queries themselves)")
    command.add_argument("--query-ids", metavar="F", help="their ids, or row numbers: the list that `audit` takes")
    command.add_argument("--database-ids", metavar="F", help="those of the database")
    command.add_argument("--vectors", action="store_true", help="compare vectors by their cosine")
    command.add_argument("--most", type=int, default=1000, metavar="N", help="propose at most N queries (1000)")
    command.add_argument("--least", type=float, metavar="S", help="least score of a pair (images 0, vectors 0.9)")
    command.add_argument("--no-mirror", action="store_true", help="do not look for mirrored copies")
    command.add_argument("--exact", action="store_true", help="compare all pairs of vectors, however many")
    command.add_argument(
        "--threads", type=int, default=1, metavar="N", help="the result is the same for any number (1)"
    )
    command.add_argument("--csv", type=Path, metavar="F.csv", help="write all proposed pairs")
    command.add_argument("--sheet", type=Path, metavar="F.html", help="write a page to judge the pairs on")
    command.set_defaults(run=_find_duplicates)

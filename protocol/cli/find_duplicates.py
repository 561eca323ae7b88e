"""`protocol find-duplicates`: propose pairs of images or vectors that may be near-duplicates."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages

if TYPE_CHECKING:
    from protocol.cli._help import Parser


def _find_duplicates(arguments: argparse.Namespace) -> None:
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


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command `protocol find-duplicates`."""
    command = commands.add_parser(
        "find-duplicates",
        usage="protocol find-duplicates --query Q [--database D] [OPTION ...]",
        help="propose near-duplicates among your own images or vectors",
        description="Propose pairs of a query and a database item that may be near-duplicates, the most similar first, "
        "for a person to judge. Files Q and D: uint8 images as .npy, .npz:key or .h5:dataset, or a folder of image "
        "files.",
        examples="""
            protocol find-duplicates --query test.npy --database train.npy --csv pairs.csv --sheet pairs.html
            protocol find-duplicates --query photos/           compare a folder with itself
            protocol find-duplicates --query q.npy --database d.npy --vectors --least 0.98 --threads 2
        """,
        details="""
            images:
              uint8 (n, height, width) or (n, height, width, 3) as F.npy, F.npz:key or F.h5:dataset; a folder
              of image files; or content.h5 of a dataset of the pipeline. Sizes may differ: the central square
              of every image is compared at 32 x 32 pixels. The search also finds mirrored copies, and copies
              with small shifts, crops of up to about a tenth, changes of brightness and contrast, and JPEG
              compression.

            vectors (--vectors):
              Numbers (n, d) as F.npy, F.npz:key, F.h5:dataset, F.fbin or F.fvecs. Pairs are ranked by their
              cosine similarity.

            output:
              The command prints the first proposals, with the precision and recall to expect. --csv writes all
              pairs: query, database, score, rank (of the query), choice (1 is the best partner of the query).
              --sheet writes a page on which a person judges the pairs. The page saves the judgements as CSV
              for `protocol audit --known-pairs`.
        """,
    )
    command.add_argument("--query", required=True, metavar="Q", help="images or vectors of the queries")
    command.add_argument(
        "--database", metavar="D", help="images or vectors to compare them with (the queries themselves)"
    )
    command.add_argument("--csv", type=Path, metavar="F.csv", help="write all proposed pairs")
    command.add_argument("--sheet", type=Path, metavar="F.html", help="write a page for judging the pairs")
    command.add_argument("--vectors", action="store_true", help="compare vectors, by their cosine similarity")
    command.add_argument(
        "--most", type=int, default=1000, metavar="N", help="propose pairs for at most N queries (1000)"
    )
    command.add_argument("--least", type=float, metavar="S", help="smallest score of a pair (images 0, vectors 0.9)")
    command.add_argument(
        "--threads", type=int, default=1, metavar="N", help="number of threads, which does not change the result (1)"
    )
    ids = command.rare("ids and the search")
    ids.add_argument("--query-ids", metavar="F", help="ids or row numbers of the queries, as `audit` reads them")
    ids.add_argument("--database-ids", metavar="F", help="ids or row numbers of the database")
    ids.add_argument("--no-mirror", action="store_true", help="do not look for mirrored copies")
    ids.add_argument("--exact", action="store_true", help="compare all pairs of vectors, however many there are")
    command.set_defaults(run=_find_duplicates)

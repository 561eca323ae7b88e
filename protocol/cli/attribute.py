"""`protocol attribute`: divide lost recall among the code, the index and ties; find errors of a search engine."""

import argparse
import itertools
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, counted
from protocol.cli._output import check_outputs, finish, report


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol attribute`."""
    from protocol.evaluation import Codes, Nearest
    from protocol.quantisers import attribute

    _check(arguments)
    names = [Path(file).stem for file in arguments.results]
    names = names if len(set(names)) == len(names) else arguments.results
    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    codes, vectors, ids = (_sides(arguments, kind) for kind in ("codes", "vectors", "ids"))
    attribution = attribute(
        dict(zip(names, arguments.results, strict=True)),
        None if codes is None else (Codes(codes[0], *encoding), Codes(codes[1], *encoding)),
        None if vectors is None else Nearest(*vectors, None, arguments.distance or "cosine"),
        distances=dict(zip(names, arguments.distances, strict=False)),
        ids=ids,
        k=arguments.neighbours,
        exact=arguments.exact,
        threads=arguments.threads,
        progress=report,
    )
    finish(attribution, arguments.json)
    return int(bool(attribution.faults))


def _sides(arguments: argparse.Namespace, kind: str) -> tuple[Any, Any] | None:
    """Return the files of queries and database; None if there is none."""
    files = getattr(arguments, f"query_{kind}"), getattr(arguments, f"database_{kind}")
    return None if files == (None, None) else files


def _check(arguments: argparse.Namespace) -> None:
    """Check, before anything is computed, that the options fit together and the output can be written."""
    results, distances = arguments.results, arguments.distances
    sides = [_sides(arguments, kind) or () for kind in ("codes", "vectors", "ids")]
    check_outputs({"--json": arguments.json}, [*results, *distances, *itertools.chain(*sides)])
    if arguments.distance is not None and not sides[1]:
        raise ProtocolError("--distance needs --query-vectors and --database-vectors as well.")
    if None in sides[2]:
        raise ProtocolError("Ids need both --query-ids and --database-ids.")
    if distances and len(distances) != len(results):
        raise ProtocolError(
            f"--distances: {counted(len(distances), 'file')} for {counted(len(results), 'file')} of --results."
        )

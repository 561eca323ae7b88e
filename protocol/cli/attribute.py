"""`protocol attribute`: divide lost recall among the code, the index and ties; find errors of a search engine."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError, counted
from protocol.cli._output import check_outputs, finish
from protocol.cli._progress import stages


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol attribute`."""
    from protocol.evaluation import Codes, Nearest
    from protocol.quantisers import attribute

    codes = [arguments.query_codes, arguments.database_codes]
    vectors = [arguments.query_vectors, arguments.database_vectors]
    ids = (arguments.query_ids, arguments.database_ids)
    files, distances = arguments.results, arguments.distances
    check_outputs({"--json": arguments.json}, [*files, *distances, *codes, *vectors, *ids])
    if arguments.distance is not None and not any(vectors):
        raise ProtocolError("--distance needs --query-vectors and --database-vectors as well.")
    if any(ids) and not all(ids):
        raise ProtocolError("Ids need both --query-ids and --database-ids.")
    if distances and len(distances) != len(files):
        raise ProtocolError(
            f"--distances: {counted(len(distances), 'file')} for {counted(len(files), 'file')} of --results."
        )
    names = [Path(file).stem for file in files]
    names = names if len(set(names)) == len(names) else files
    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    with stages() as report:
        attribution = attribute(
            dict(zip(names, files, strict=True)),
            (Codes(codes[0], *encoding), Codes(codes[1], *encoding)) if any(codes) else None,
            Nearest(vectors[0], vectors[1], distance=arguments.distance or "cosine") if any(vectors) else None,
            distances=dict(zip(names, distances, strict=False)),
            ids=ids if any(ids) else None,
            k=arguments.neighbours,
            exact=arguments.exact,
            threads=arguments.threads,
            progress=report,
        )
    finish(attribution, arguments.json)
    return int(bool(attribution.faults))

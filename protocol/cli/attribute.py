"""`protocol attribute`: divide lost recall among the code, the index and ties; find errors of a search engine."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError, counted
from protocol.cli._output import check_outputs, show
from protocol.cli._progress import stages


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol attribute`."""
    from protocol.evaluation import Codes, Nearest, attribute
    from protocol.provenance.storage import replacing

    codes = [arguments.query_codes, arguments.database_codes]
    vectors = [arguments.query_vectors, arguments.database_vectors]
    ids = (arguments.query_ids, arguments.database_ids)
    check_outputs({"--json": arguments.json}, [*arguments.results, *arguments.distances, *codes, *vectors, *ids])
    if arguments.distance is not None and not any(vectors):
        raise ProtocolError("--distance needs --query-vectors and --database-vectors as well.")
    if any(ids) and not all(ids):
        missing, other = ("query", "database") if ids[0] is None else ("database", "query")
        raise ProtocolError(f"--{other}-ids needs --{missing}-ids as well.")
    if not any((*codes, *vectors)):
        raise ProtocolError(
            "Pass what the engine searches: --query-codes and --database-codes, or --query-vectors and "
            "--database-vectors."
        )
    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    results, distances = _by_name(arguments.results, arguments.distances)
    with stages() as report:
        attribution = attribute(
            results,
            (Codes(codes[0], *encoding), Codes(codes[1], *encoding)) if any(codes) else None,
            Nearest(vectors[0], vectors[1], distance=arguments.distance or "cosine") if any(vectors) else None,
            distances=distances,
            ids=ids if any(ids) else None,
            tables=arguments.tables,
            k=arguments.neighbours,
            exact=arguments.exact,
            threads=arguments.threads,
            progress=report,
        )
    if arguments.json:
        with replacing(arguments.json) as temporary:
            temporary.write_text(attribution.to_json() + "\n", encoding="utf-8")
    show(str(attribution))
    return int(bool(attribution.faults))


def _by_name(results: list[str], distances: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of results and of distances by the name of the results, which is short if that is unique."""
    if distances and len(distances) != len(results):
        raise ProtocolError(
            f"--distances: {counted(len(distances), 'file')} for {counted(len(results), 'file')} of --results."
        )
    names = [Path(file).stem for file in results]
    names = names if len(set(names)) == len(names) else results
    return dict(zip(names, results, strict=True)), dict(zip(names, distances, strict=False))

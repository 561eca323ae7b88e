"""`protocol recall`: measure the recall lost to binarisation, or divide that of a search engine among its causes."""

import argparse
from pathlib import Path
from typing import Any

from protocol.checks import ProtocolError, counted
from protocol.cli._output import check_outputs, given, passed, refuse_without, show, write
from protocol.cli.evaluate import codes, nearest
from protocol.progress import report

_OF_RESULTS = ("distances", "exact", "query_ids", "database_ids")
_OF_BINARISATION = ("hasher", "code_bytes", "train_vectors", "seed", "rescore", "target", "quantiser", "metrics")
_FILES = ("query_codes", "database_codes", "query_vectors", "database_vectors", "train_vectors", *_OF_RESULTS[2:])


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol recall`."""
    results = arguments.results or []
    for option in given(arguments, *(_OF_BINARISATION if results else _OF_RESULTS)):
        if results:
            raise ProtocolError(f"{option} measures the recall lost to binarisation, so --results can't be given.")
        raise ProtocolError(f"{option} needs --results, the items that a search engine found.")
    inputs = [*results, *(arguments.distances or ()), *passed(arguments, *_FILES).values()]
    check_outputs({"--json": arguments.json}, inputs)
    return _attribute(arguments) if results else _binarise(arguments)


def _attribute(arguments: argparse.Namespace) -> int:
    """Divide the lost recall of results; the status is 1 if the engine made errors."""
    from protocol.evaluation.printed import json_text
    from protocol.quantisers import Attribution, attribute

    results, distances = arguments.results, arguments.distances or []
    numbers, attributions = arguments.neighbours or [None], list[Attribution]()
    if len(distances) not in (0, len(results)):
        raise ProtocolError(f"--distances: {counted(len(distances), 'file')} for {len(results)} of --results.")
    if arguments.database_ids is None:
        refuse_without("--database-ids", given(arguments, "query_ids"))
    names = [Path(file).stem for file in results]
    names = names if len({*names}) == len(names) else results
    for k in numbers:
        of_number = attribute(
            dict(zip(names, results, strict=True)),
            codes(arguments) if given(arguments, "query_codes", "database_codes") else None,
            nearest(argparse.Namespace(**vars(arguments) | {"neighbours": None})),
            distances=dict(zip(names, distances, strict=False)),
            ids=(arguments.query_ids, arguments.database_ids) if arguments.database_ids else None,
            k=k,
            progress=report,
            **passed(arguments, "exact", "threads"),
        )
        show("\n" * bool(attributions) + str(of_number))
        attributions.append(of_number)
    if arguments.json:
        contents = [each.content() for each in attributions]
        write(arguments.json, f"{json_text(contents if len(contents) > 1 else contents[0])}\n")
    return int(any(each.faults for each in attributions))


def _binarise(arguments: argparse.Namespace) -> int:
    """Measure the recall lost to binarisation."""
    from protocol.quantisers import quantisation

    vectors = nearest(arguments)
    if vectors is None:
        raise ProtocolError("--query-vectors and --database-vectors are missing.")
    options = passed(arguments, "rescore", "target", "seed", "metrics", "threads")
    result = quantisation(
        vectors,
        _codes(arguments),
        quantisers=arguments.quantiser or (),
        train=arguments.train_vectors,
        progress=report,
        **{name: value for name, value in options.items() if value is not None},
    )
    if arguments.code_bytes is not None:
        result = result.with_code_bytes(arguments.code_bytes)
    if arguments.json:
        result.write_json(arguments.json)
    show(str(result))
    return 0


def _codes(arguments: argparse.Namespace) -> Any:
    """Return the codes in files, or the hasher that computes them from the vectors."""
    if given(arguments, "query_codes", "database_codes"):
        if arguments.hasher is not None:
            raise ProtocolError("--hasher computes codes from vectors, so it can't be combined with --query-codes.")
        if arguments.train_vectors is not None and not given(arguments, "quantiser", "rescore"):
            raise ProtocolError("--train-vectors needs a hasher or a quantiser to fit, but only codes are given.")
        return codes(arguments)
    for option in (*given(arguments, "binarize", "n_bits"), *["--ranking"] * (arguments.ranking != "hamming")):
        hint = "A hasher is named with its code length, as in itq:n_bits=16"
        raise ProtocolError(f"{option} needs --query-codes and --database-codes as well. {hint}.")
    return arguments.hasher or "sign"

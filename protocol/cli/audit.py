"""`protocol audit`: find leaks and missing classes in your own split."""

import argparse
from typing import TYPE_CHECKING, Any

from protocol.checks import ProtocolError
from protocol.cli._output import check_outputs, passed, show, write
from protocol.splits import LISTS, items_above

if TYPE_CHECKING:
    from protocol.auditing import Audit

_EVIDENCE = ("features", "known_pairs", "groups")
_CODES = ("query_codes", "database_codes")
_FILES = (*LISTS, "labels", "ids", *_EVIDENCE, *_CODES, "against")
_OPTIONS = (*LISTS, "labels", "ids", "protocol", "against", "training_log", "pattern", "reported")
_UNDETERMINED = 3
"""The exit status if the lists do not show whether the split has an error."""


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol audit`."""
    from protocol.auditing import Evidence, audit

    above = (file for split in arguments.splits for file in items_above(split))  # the dataset of a pipeline's split
    inputs = [*passed(arguments, *_FILES).values(), *(arguments.training_log or ()), *arguments.splits, *above]
    check_outputs({"--json": arguments.json, "--write-affected": arguments.write_affected}, inputs)
    evidence = Evidence(**passed(arguments, *_EVIDENCE), **_codes(arguments))
    audited = audit(*arguments.splits, evidence=evidence, **passed(arguments, *_OPTIONS))
    if arguments.json:
        write(arguments.json, f"{audited.to_json()}\n")
    if arguments.write_affected:
        write(arguments.write_affected, _affected(audited))
    show(audited.to_text(why=arguments.why))
    if arguments.fail_on == "never":
        return 0
    return 1 if audited.fails(arguments.fail_on) else _UNDETERMINED * audited.fails("undetermined")


def _codes(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the codes with their encoding; {} if neither is given."""
    from protocol.evaluation import Codes

    if not any(getattr(arguments, name) for name in (*_CODES, "n_bits", "binarize")):
        return {}
    for name in _CODES:
        if getattr(arguments, name) is None:
            raise ProtocolError(f"--{name.replace('_', '-')} is missing. Codes of queries and database are needed.")
    encoding = (arguments.n_bits, arguments.bit_order, arguments.binarize)
    return {name: Codes(getattr(arguments, name), *encoding) for name in _CODES}


def _affected(audited: "Audit") -> str:
    """Return the row numbers of the affected queries of one split as lines, in the order of its query list."""
    if len(audited.runs) > 1:
        why = f"because splits have different queries; got {len(audited.runs)}"
        raise ProtocolError(f"--write-affected needs a single split, {why}.")
    if not audited.affected:
        raise ProtocolError("--write-affected needs judged pairs of the dataset (--known-pairs).")
    (positions,) = audited.affected.values()
    return "".join(f"{position}\n" for position in positions)

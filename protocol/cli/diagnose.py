"""`protocol diagnose`: find out what an evaluator computes."""

import argparse

from protocol.checks import ProtocolError
from protocol.cli._output import check_outputs, finish, show


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol diagnose`."""
    from protocol.evaluators import read_answers, write_cases
    from protocol.evaluators.diagnosis import ANSWERS

    if (arguments.write is None) == (arguments.read is None):
        raise ProtocolError("diagnose needs either --write DIR or --read F.")
    if arguments.write is not None:
        answers = arguments.write / ANSWERS
        if answers.exists():
            raise ProtocolError(f"{answers}: this file exists, and its answers would be lost. Choose another folder.")
        write_cases(arguments.write, arguments.cutoff)
        cutoff = "" if arguments.cutoff is None else f" --cutoff {arguments.cutoff}"
        show(f"Score each case, fill in {answers}, and run `protocol diagnose --read {answers}{cutoff}`.")
        return
    check_outputs({"--json": arguments.json}, [arguments.read])
    finish(read_answers(arguments.read, arguments.cutoff), arguments.json)

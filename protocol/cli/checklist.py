"""`protocol checklist`: what the results of an experiment state about the most common mistakes."""

import argparse
import itertools

from protocol.cli._output import show


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol checklist`."""
    from protocol.report.checklist import checklist
    from protocol.scores.tables import filled

    table = checklist(arguments.results)
    if arguments.markdown:
        show(table.markdown().rstrip())
        return
    lines = [table.caption]
    for mistake, rows in itertools.groupby(table.rows, key=lambda row: row[0]):
        lines.append(f"\n{mistake}")
        for _, question, answer, source in rows:
            lines += [filled(f"  {question}"), filled(f"    {answer} [{source}]")]
    show("\n".join(lines))

"""`protocol compare`: compare the scores of experiments, or of a user's own codes."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, passed, show, write


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol compare`."""
    from protocol.comparison import compare

    if arguments.html:
        need("altair", "report")  # before the files are read
    verified, refused = ([], []) if arguments.verify is None else _verified(arguments.verify)
    files = [*arguments.files, *verified]
    tables = (Path(file).with_name(name) for file in files for name in ("metrics.csv", "runs.csv"))
    check_outputs({"--html": arguments.html, "--latex": arguments.latex}, [*files, *tables])
    if len(files) > 1 or not refused:
        comparison = compare(*files, **passed(arguments, "metrics", "assume", "against"))
        if arguments.html:
            write(arguments.html, comparison.to_html())
        if arguments.latex:
            write(arguments.latex, comparison.to_latex())
        show(f"{comparison!r}" + (f"\n\n{comparison.why()}" if arguments.why else ""))
    if refused:
        show("\n".join(["", "== Refused", *refused]))
    return int(bool(refused))


def _verified(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the records in a folder that verify, and a line for each that does not."""
    from protocol.verification import verify

    verified, refused = list[Path](), list[str]()
    for file in sorted(folder.rglob("*.json")):
        if any(part.startswith(".") for part in file.relative_to(folder).parts):
            continue
        try:
            verification = verify(file)
        except ProtocolError as error:
            refused.append(str(error))
        else:
            verified += [file] * verification.holds
            refused += [verification.verdict] * (not verification.holds)
    if not verified and not refused:
        raise ProtocolError(
            f"--verify {folder}: no records (*.json) in this folder. `protocol evaluate --json` writes them."
        )
    return verified, refused

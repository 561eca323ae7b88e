"""`protocol compare`: compare the scores of experiments, or of a user's own codes."""

import argparse
from pathlib import Path

from protocol.checks import ProtocolError, listed, need
from protocol.cli._output import check_outputs, passed, show, write


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol compare`."""
    from protocol.comparison import compare, leaderboard

    page, others = arguments.leaderboard, ("html", "latex", "metrics", "against", "why")
    if page and any(getattr(arguments, name) for name in others):
        raise ProtocolError(f"--leaderboard can't be combined with {listed([f'--{name}' for name in others], 'or')}.")
    if arguments.html:
        need("altair", "report")  # before the files are read
    verified, refused = ([], []) if arguments.verify is None else _verified(arguments.verify)
    files = [*arguments.files, *verified]
    tables = (Path(file).with_name(name) for file in files for name in ("metrics.csv", "runs.csv", "times.csv"))
    outputs = {f"--leaderboard F{suffix}": page.with_suffix(suffix) for suffix in (".csv", ".json")} if page else {}
    outputs |= {"--html": arguments.html, "--latex": arguments.latex, "--leaderboard": page}
    check_outputs(outputs, [*files, *tables])
    if page and (files or not refused):
        board = leaderboard(*files, **passed(arguments, "assume"))
        board.write(page)
        show(str(board))
    elif len(files) > 1 or not refused:
        comparison = compare(*files, **passed(arguments, "metrics", "assume", "against"))
        if arguments.html:
            write(arguments.html, comparison.to_html())
        if arguments.latex:
            write(arguments.latex, comparison.to_latex())
        show("\n\n".join([f"{comparison!r}", *[comparison.why()] * arguments.why]))
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

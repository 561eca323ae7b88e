"""`protocol compare`: compare the scores of experiments, or of a user's own codes."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from protocol.checks import ProtocolError, need
from protocol.cli._output import check_outputs, given, passed, show, write

_TABLES = ("metrics.csv", "runs.csv", "query_groups.csv", "times.csv", "audit.csv")


def run(arguments: argparse.Namespace) -> int:
    """Run `protocol compare`."""
    if arguments.leaderboard:
        for option in given(arguments, "html", "latex", "metrics", "against", "why"):
            raise ProtocolError(f"--leaderboard can't be combined with {option}.")
        if arguments.leaderboard.suffix != ".html":
            raise ProtocolError(f"--leaderboard {arguments.leaderboard}: the name of the page must end in .html.")
    if arguments.html:
        need("altair", "report")  # before the files are read
    verified, refused = _verified(arguments.verify, arguments.leaderboard)
    files = [*arguments.files, *verified]
    if not files and not refused:
        raise ProtocolError("compare, also with --why, needs a file: summary.csv, JSON of `evaluate`, --verify FOLDER.")
    if files:
        tables = (Path(file).with_name(name) for file in files for name in _TABLES)
        page = arguments.leaderboard
        beside = {f"--leaderboard F{suffix}": page.with_suffix(suffix) for suffix in (".csv", ".json") if page}
        check_outputs(beside | given(arguments, "leaderboard", "html", "latex"), [*files, *tables])
        if page:
            from protocol.comparison import leaderboard

            board = replace(leaderboard(*files, **passed(arguments, "assume")), refused=tuple(refused))
            board.write(page)
            show(str(board))
        else:
            _compare(arguments, files)
    if refused:
        show("\n".join(["", "== Refused", *refused]))
    return int(bool(refused))


def _compare(arguments: argparse.Namespace, files: Sequence[str | Path]) -> None:
    from protocol.comparison import compare

    comparison = compare(*files, **passed(arguments, "metrics", "assume", "against"))
    if arguments.html:
        write(arguments.html, comparison.to_html())
    if arguments.latex:
        write(arguments.latex, comparison.to_latex())
    show("\n\n".join([f"{comparison!r}", *[comparison.why()] * arguments.why]))


def _verified(folder: Path | None, page: Path | None) -> tuple[list[Path], list[str]]:
    """Return the records in a folder that verify, and a line for each that does not; the JSON of `page` is none."""
    from protocol.verification import verify

    verified, refused = list[Path](), list[str]()
    if folder is None:
        return verified, refused
    for file in sorted({*folder.rglob("*.json")} - {page and page.with_suffix(".json")}):
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
        found = "no records (*.json). `protocol evaluate --json` writes them" if folder.is_dir() else "no such folder"
        raise ProtocolError(f"--verify {folder}: {found}.")
    return verified, refused

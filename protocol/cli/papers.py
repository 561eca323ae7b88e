"""`protocol papers`: check the claims of the papers, or redraw their figures and tables from results."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from protocol.checks import ProtocolError, abridged, one_of
from protocol.cli._output import check_outputs, show

_MOST = 12
"""So many scores of methods are printed."""


def run(arguments: argparse.Namespace) -> None:
    """Run `protocol papers`."""
    if arguments.id[:1] == ["figures"]:
        _draw(arguments.id[1:], arguments.results or Path("results"), arguments.output)
    else:
        _check(arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Print claims and printed tables: all claims, those that contain some words in any order, or the named ones."""
    from protocol import papers
    from protocol.scores.tables import Table, filled

    if arguments.output:
        raise ProtocolError("--output is only used with figures: protocol papers figures --output DIR.")
    folder = arguments.results or Path("results")
    check_outputs({"--json": arguments.json}, folder.rglob("*.csv") if arguments.json else ())
    known = {claim.id: claim for claim in papers.all_claims()}
    ids, words = ([name for name in arguments.id if (name in known) == is_id] for is_id in (True, False))
    results = papers.Results.in_folder(arguments.results)
    tables = papers.all_tables() * bool(arguments.id)
    every = papers.ledger(results, ids), tables, papers.scores_of_methods() * bool(words)
    entries, of_words, scores = (papers.matching(each, words) for each in every)
    numbers = {f"claim {entry['id']}" for entry in entries}
    tables = of_words * bool(words) or [table for table in tables if table.get("numbers") in numbers]
    if not (tables or entries or scores):
        _nothing_has(" ".join(words).split(), every)
        one_of(words[0], known, "claim or table", listing="protocol papers")
    if arguments.json:
        papers.write_ledger(arguments.json, [*tables, *entries, *scores])
    shown = [*map(papers.entry_text, tables + entries if ids else tables)]
    shown += [papers.ledger_text(entries)] if entries and not ids else []
    if len(scores) > _MOST:
        shown.append(filled(f"{len(scores)} scores of methods also have these words: add a hasher or a code length."))
    elif scores:
        shown.append(Table("scores", "", [*scores[0]], [[*score.values()] for score in scores]).text())
    show("\n\n".join(shown))
    if not all(known[entry["id"]].test for entry in entries):
        tables_read = abridged((path.relative_to(folder) for path in results.paths), 3)
        show("\n" + filled(f"Tables of results that were read in {folder.absolute()}: {tables_read}."))


def _nothing_has(words: Sequence[str], every: Iterable[Sequence[dict[str, str]]]) -> None:
    """Raise ProtocolError with the number of claims, tables and scores that have each word, unless none has any."""
    from protocol.papers import matching

    with_word = {word: sum(len(matching(each, [word])) for each in every) for word in words}
    if any(with_word.values()):
        having = ", ".join(f"{word} ({n:,})" for word, n in with_word.items())
        raise ProtocolError(f"No claim, table or score has all of these words: {having}. Leave out some.")


def _draw(names: list[str], results: Path, output: Path | None) -> None:
    """Draw figures and tables, and print the names of their files and the missing results."""
    from protocol.papers.figures import DRAWINGS, data_in
    from protocol.provenance.storage import check_writable, replacing
    from protocol.report import figure_files, table_files

    for name in names:
        one_of(name, [*DRAWINGS], "figure")
    if output is None:
        raise ProtocolError("Figures need a folder for their files: protocol papers figures --output DIR.")
    check_writable(output)
    data = data_in(results)
    for name in names or DRAWINGS:
        drawn = DRAWINGS[name](data)
        for file, content in (figure_files(drawn.figures) | table_files(drawn.tables)).items():
            with replacing(output / file) as path:
                path.write_bytes(content)
        parts = [*(figure.name for figure in drawn.figures), *(table.name for table in drawn.tables)]
        show("\n  ".join([name, *parts]))
        if drawn.missing:
            show(f"  missing: {drawn.missing}")

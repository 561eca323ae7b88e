"""The language of everything that a person reads: no misspelt words, and none of the words and phrases below."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("docs", "protocol", "workflow", "tests", "results/reference")
FILES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Snakefile", "pyproject.toml", "Dockerfile")
SUFFIXES = {".md", ".py", ".smk", ".yaml", ".rst", ".j2"}
GENERATED = ("_build", "docs/results", ".snakemake")

BANNED = {
    r"passports?": "metaphor: provenance, or provenance record",
    r"(?<!no )(?<!has )(?<!finds no )rooms?": "metaphor: package or module; stage of the pipeline",
    r"halls?": "metaphor: package (Hall, the mathematician, has a capital letter)",
    r"doors?": "metaphor: entry point; the output of a stage",
    r"wanted\b.*\bcame": "error messages are: expected X, got Y",
    r"came (?!from|to|with|back|up|into|out|first|last|later|before|after)[^ ]*\d": "messages are: expected X, got Y",
    r"(?:is|are|be|been|can't be) gone on with": "no English idiom: is resumed, continues",
    r"on (?:your|its|their|the user's) word": "no English idiom: write what was assumed",
    r"processor[ -](?:seconds?|hours?|time)": "the standard term is CPU time",
    r"whole (?:numbers?|splits?)": "the standard terms are integer and complete split",
    r"kept tables?": "write stored reference results",
    r"climb(?:s|ed|ing)?": "metaphor: optimise, maximise",
    r"(?:file|page|function|method|command|option|message|rule|script|metric|hasher|docstring|README|table|log|key|"
    r"line|header|record|program|tool|code|split|test|class|Snakemake|pipeline)s? (?:says?|tells?|asks?|wants?)": (
        "programs do not speak: records, contains, states, requires, returns, reports, prints"
    ),
    r"(?:a|the|each|this|that|which|one) room (?:leaves?|writes?|reads?)": "metaphor: stage",
    r"(?:setting = |setting\.config|results\.setting)": "a config file, or what it describes: configuration, experiment",
    r"(?:is|are) (?:said|told) (?:so|once|of|by|in|to)": "programs do not speak: is reported, is recorded",
    r"too, (?:but|and) (?:not|no)\b.*\btoo": "two dangling adverbs in one sentence",
}
"""Regular expressions of whole words, and the reason with the words to write instead; upper and lower case differ."""

AMERICAN = r"(?:colors?|behaviors?|neighbors?|neighborhoods?|centers?|centered|gray|favor|judgment|labeled|labeling)"
"""American spellings, in Markdown outside of code."""


def files(root: Path = ROOT) -> list[Path]:
    """Return the files with prose, in a fixed order."""
    found = [root / name for name in FILES if (root / name).is_file()]
    for place in PLACES:
        found += sorted(path for path in (root / place).rglob("*") if path.suffix in SUFFIXES)
    return [
        path
        for path in found
        if path.name != Path(__file__).name and not any(part in path.relative_to(root).as_posix() for part in GENERATED)
    ]


def violations(root: Path = ROOT) -> list[str]:
    """Return each line with a banned word: its file and number, the words and the reason."""
    found = []
    patterns = {re.compile(rf"(?<![\w-]){pattern}(?![\w-])"): reason for pattern, reason in BANNED.items()}
    for path in files(root):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [
                f"{path.relative_to(root)}:{number}: {match[0]!r} ({reason})"
                for pattern, reason in patterns.items()
                if (match := pattern.search(line))
            ]
    return found

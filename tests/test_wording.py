"""The language of everything that a person reads: no misspelt words, and none of the words and phrases below."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("config", "docs", "protocol", "workflow", "tests", "results/reference")
SNAKEFILES = ("Snakefile", "workflow/Snakefile")
FILES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", *SNAKEFILES, "pyproject.toml", "Dockerfile")
SUFFIXES = {".md", ".py", ".smk", ".yaml", ".toml", ".rst", ".j2"}
GENERATED = ("_build", "docs/results", ".snakemake")

PROGRAMS = (
    "file|page|function|method|command|option|message|rule|script|metric|hasher|docstring|README|table|log|key|line|"
    "header|record|program|tool|split|test|class|Snakemake|pipeline|module|package|field|column"
)
BANNED = {
    r"passports?": "a metaphor: write provenance, or provenance record",
    r"(?<!no )(?<!has )(?<!makes )rooms?": "a metaphor: write package, module or stage",
    r"halls?": "a metaphor: write package or module (Hall's theorem has a capital letter)",
    r"doors?": "a metaphor: write entry point, or output of a stage",
    r"wanted\b.*\bcame": "an error message states the problem and the value",
    r"came (?:shape|dtype|type|NaN|none|nothing|-?[0-9{])[^ ]*": "an error message states the problem and the value",
    r"got (?:none(?! for item)|no such|nothing)\b": "an error message names what is missing",
    r"expected no such": "write 'already exists', and what to do",
    r"got (?:only|no|more|too)\b(?! than)": "this is no wrong value: state the problem as a colleague would",
    r"expected the (?:columns|keys|list|ranking)\b": "something missing is no wrong value: name what is missing",
    r"got one that": "write: FILE: can't be read as X (reason)",
    r"and the like": "list the things, or write 'for example'",
    r"resembles none": "write matches none",
    r"labels of queries that the database lacks:": "write query labels absent from the database",
    r"[Uu]nlike protocols": "write different protocols",
    r"[Oo]fficial parts?": "write official split",
    r"computed again": "write recomputed",
    r"beside": "write next to, together with, or compared with",
    r"(?:a|this|each|same) draws?(?! (?:at|from|of a))|draws? of the split": "write sampled split, or sample",
    r"convention `?protocol`?": "the convention is called default",
    r"the identity of (?:a|the) score": "write score metadata",
    r"undefined queries": "write undefined values, or queries with undefined AP",
    r"[Cc]all(?:s|ed)? (?:it )?mAP": "write reports as mAP, or reported as mAP by",
    r"[Ww]hat (?:a|an) (?:binary )?(?:code|index) loses|[Ll]oss of (?:recall|binary codes)": (
        "write recall lost to binarisation, or to an index; loss is the training loss"
    ),
    r"finds most of": "ambiguous: write finds the most of, or finds the largest share of",
    r"gone on with": "no English idiom: write is resumed, or continues",
    r"on (?:your|its|their|the user's) word": "no English idiom: write what was assumed",
    r"processor[ -](?:seconds?|hours?|time)": "the standard term is CPU time",
    r"whole (?:numbers?|splits?)": "the standard terms are integer and complete split",
    r"kept tables?": "write stored reference results",
    r"climb(?:s|ed|ing)?": "a metaphor: write optimise or maximise",
    rf"(?:{PROGRAMS})s? (?:says?|tells?|asks?|wants?)": "programs do not speak: write records, states, requires",
    r"(?:is|are|was) (?:said|told) (?:so|once|of|by|in|to)": "programs do not speak: write is reported, is recorded",
    r"setting\.config|(?:a|the|shipped) settings? (?:file|names?)": (
        "write config file for the file, and experiment for what it describes"
    ),
    r"(?:^ *|\{(?:[^{}]*, )?)use:": "the key of a plug-in behind a name is base",
    r"(?:hasher|ground_truth)_uses": "the keys are hasher_bases and ground_truth_bases",
    r"code_use": "the standard term is code utilisation",
    r"(?:behavior|neighborhood|labeling|modeling)s?|(?:un)?labeled|centered": "the spelling is British",
}
"""Regular expressions of whole words, and the reason with the words to write instead. Capital letters differ."""


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


def test_no_banned_word_is_in_use():
    assert violations() == []


@pytest.mark.parametrize(
    "line",
    [
        "Each room leaves its passport at the door.",
        "codes.npy: wanted 2-D, came shape (3,)",
        "An interrupted download is gone on with.",
        "two processor seconds and three whole numbers",
        "the rule says which items are relevant",
        "codes: expected an array, got none.",
        "nope.npy: expected a file, got no such file.",
        "distance: expected features, got only 1.",
        "pr_curves: expected the ranking hamming, got asymmetric.",
        "x.npz: expected an .npz file, got one that can't be read",
        "codes, labels and the like",
        "sign finds most of the 10 nearest items",
        "hashers: [lsh, {name: itq_5, use: itq}]",
        "    use: gist",
        "the loss of binary codes, and what an index loses",
        "what is called mAP for undefined queries",
    ],
)
def test_a_banned_word_is_found(line, tmp_path):
    (tmp_path / "README.md").write_text(f"good\n{line}\n")
    assert all(found.startswith("README.md:2: ") for found in violations(tmp_path))
    assert violations(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "the figure has no room for a legend",
        "by Hall's theorem",
        "the mirror that the file came from",
        "what was wanted",
        "      - uses: actions/checkout@v4",
    ],
)
def test_ordinary_english_is_allowed(line, tmp_path):
    (tmp_path / "README.md").write_text(f"{line}\n")
    assert violations(tmp_path) == []


def test_the_spelling_is_right():
    names = [name for name in (*FILES, *PLACES) if (ROOT / name).exists()]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

"""Pages whose blocks are run in the order of the page, in an empty folder, and print what the page shows.

Python blocks share one namespace. A block of `protocol` commands runs through the command line's own function. The
`text` block that follows is its output; a line ``...`` in it stands for any lines. A comment ``<!-- not run: REASON
-->`` above a block means that it is not run.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest
import yaml

from protocol import configuration, registry
from protocol.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "explanation/claims-of-the-papers",
    "explanation/counting",
    "explanation/cutoffs-and-denominators",
    "explanation/glossary",
    "explanation/ground-truths",
    "explanation/near-duplicates-in-the-data",
    "explanation/split-protocols",
    "explanation/ties",
    "explanation/what-map-does-not-see",
    "how-to/add-a-data-set",
    "how-to/add-a-ground-truth",
    "how-to/add-a-metric",
    "how-to/add-a-split",
    "how-to/change-options",
    "how-to/choose-options-by-cross-validation",
    "how-to/figures-for-a-paper",
    "how-to/keep-results-in-an-object-store",
    "how-to/rerun-a-stage",
    "how-to/resume-after-a-crash",
    "how-to/run-on-slurm",
    "how-to/use-a-mirror-or-work-offline",
    "how-to/use-the-workflow-as-a-module",
    "tutorials/a-hasher-that-learns",
    "tutorials/a-table-of-a-paper",
    "tutorials/audit-the-split-of-a-repository",
    "tutorials/features-from-pytorch",
    "tutorials/your-first-run",
]
BLOCK = re.compile(r"(?:^<!-- not run: (.+?) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUN = ("python", "sh")


def blocks(page):
    """Yield (language, text, output or None, reason for not running it or None) of a page's blocks."""
    found = [match.groups() for match in BLOCK.finditer((DOCS / f"{page}.md").read_text())]
    for (reason, language, text), (_, after, output) in zip(found, [*found[1:], (None, "", "")], strict=True):
        if language != "text":
            yield language, text, output if after == "text" else None, reason


def run(language, text, namespace):
    """Return what a block prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if language == "python":
            exec(compile(text, "block", "exec"), namespace)
        else:
            for command in text.replace("\\\n", " ").splitlines():
                program, *arguments = shlex.split(command, comments=True)
                assert program == "protocol", f"only `protocol` is run here: {command}"
                main(arguments)
    return printed.getvalue()


@pytest.fixture
def plug_ins(monkeypatch):
    """Forget the plug-ins that a page registers."""
    for kind in registry.PACKAGES:
        registry.names(kind)
    monkeypatch.setattr(registry, "_records", dict(registry._records))
    yield
    registry._find.cache_clear()


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_print_what_the_page_shows(page, tmp_path, monkeypatch, root):
    if page == "tutorials/features-from-pytorch":
        pytest.importorskip("torch")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "reference").symlink_to(root / "results" / "reference")
    (tmp_path / "workflow").symlink_to(root / "workflow")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "protocol.example"}
    for language, text, output, reason in blocks(page):
        if language in RUN and reason is None:
            printed = run(language, text, namespace)
            if output is not None:
                assert doctest.OutputChecker().check_output(output, printed, doctest.ELLIPSIS), printed


@pytest.mark.parametrize("page", PAGES)
def test_config_files_of_the_page_are_accepted(page, tmp_path, monkeypatch):
    """A file with `experiment` is complete; others change keys of the default."""
    default = yaml.safe_load(configuration.DEFAULT.read_text())
    (tmp_path / "mirror").mkdir()
    monkeypatch.chdir(tmp_path)
    for language, text, _, reason in blocks(page):
        if language == "yaml" and reason is None:
            config = yaml.safe_load(text)
            assert configuration.load(config if "experiment" in config else default | config)


@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_names_exists(page, root):
    text = (DOCS / f"{page}.md").read_text()
    for path in re.findall(r"`((?:protocol|workflow|envs|tests|docs|results/reference)/[\w./-]+)`", text):
        assert (root / path).exists() or f"Write `{path}`" in text, path
    for path in re.findall(r"\]\((?!http)([\w./-]+)(?:#[\w-]*)?\)", text):
        assert (DOCS / page).parent.joinpath(path).exists(), path
    for name in re.findall(r"`(\w+[.]yaml)`", text):
        assert (root / "workflow" / "config" / name).exists() or f"# {name}" in text, name

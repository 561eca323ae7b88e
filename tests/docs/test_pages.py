"""Tables, links and figures of the pages."""

import itertools
import re

import pytest
from markdown_it import MarkdownIt
from page_blocks import DOCS, ROOT, script

from protocol import registry

_FOLDERS = ("", "config/", "docs/**/", "results/reference/**/")
PAGES = [path for folder in _FOLDERS for path in ROOT.glob(f"{folder}*.md")]
# Without the copies that a build of the site makes.
PAGES = sorted(path for path in PAGES if not path.is_relative_to(DOCS / "results"))
PARSER = MarkdownIt("commonmark").enable("table")
ROW = re.compile(r"^\s*\||\|\s*:?-{3,}", re.MULTILINE)


def paragraphs(text):
    tokens = PARSER.parse(text)
    return [token.content for before, token in itertools.pairwise(tokens) if before.type == "paragraph_open"]


def test_no_table_is_cut():
    """A blank line in a table makes a paragraph of the rows below it, without a warning of Sphinx."""
    cut = {path.name: text for path in PAGES for text in paragraphs(path.read_text()) if ROW.search(text)}
    assert cut == {}


def anchors(text):
    """Return the anchors of a page: those of its headings, as GitHub and MyST write them, and named ones."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files_and_headings(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text)):
        path = page.parent / target if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text()), f"{target}#{anchor}"


def test_the_diagrams_have_the_stages_and_the_partitions_that_there_are(root):
    diagrams = script("diagrams")
    targets = set(re.findall(r"`(\w+)`", (DOCS / "how-to" / "rerun-a-stage.md").read_text().partition("## Run a")[0]))
    assert set(diagrams.STAGES) <= targets
    assert {stage for arrow in diagrams.ARROWS for stage in arrow} == set(diagrams.STAGES)
    for name in ("standard", "improved"):
        split = registry.get("split", name)
        assert {*split.partitions, "rest"} - {"database"} == set(diagrams.PARTITIONS)
        assert set(split.database_without) < set(diagrams.PARTITIONS)


def test_every_figure_of_the_gallery_has_its_command(root):
    _, *entries = (DOCS / "explanation" / "gallery.md").read_text().split("\n## ")
    for entry in entries:
        assert re.search(r"!\[.+?\]\(.+?\.svg\)", entry), entry
        script_of, config = (re.findall(pattern, entry) for pattern in (r"`python (\S+)`", r"--configfile (\S+)"))
        assert script_of or config or re.search("`(snakemake|hp\\.)", entry), entry
        assert all((root / path).exists() for path in [*script_of, *config]), entry


@pytest.mark.parametrize("name", ["figures", "diagrams"])
def test_the_stored_files_are_those_that_a_script_draws(name, tmp_path):
    drawing = script(name)
    drawing.main(tmp_path)
    for path in tmp_path.iterdir():
        stored = (drawing.FOLDER / path.name).read_bytes()
        assert path.read_bytes() == stored, f"draw them again with: python docs/{name}.py"


def test_the_gallery_and_a_page_that_names_the_command_show_each_figure(root):
    pages = {page.stem: page.read_text() for page in (root / "docs").glob("*/*.md") if page.stem != "paper"}
    for name in script("figures").FIGURES:
        shown = {page: text for page, text in pages.items() if f"figures/{name}.svg)" in text}
        assert "gallery" in shown
        assert all("python docs/figures.py" in text for text in shown.values())

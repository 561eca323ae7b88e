"""The built site in a browser: the search finds the right pages, and the code fits into a window of 1,280 pixels.

.ci/run builds the site and runs these tests; they are skipped where docs/_build does not exist.
"""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from page_blocks import DOCS

SITE = DOCS / "_build"
SEARCHES = yaml.safe_load(Path(__file__).with_name("search.yaml").read_text())
FOUND = "() => /found|match/.test(document.querySelector('#search-results .search-summary')?.textContent)"
FIRST = "links => new URL(links[0].href).pathname"
OVERFLOWING = "blocks => blocks.filter(block => block.scrollWidth > block.clientWidth).map(block => block.textContent)"
SENTENCE = re.compile(r"[A-Za-z/.]+(?: \S+)*[.:]")
UNWRAPPED = "div:not(.highlight-sh) > .highlight pre { white-space: pre !important; }"

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def index():
    """Return the index of the search as text."""
    if not (SITE / "searchindex.js").exists():
        pytest.skip("the site is not built")
    return (SITE / "searchindex.js").read_text()


@pytest.fixture(scope="module")
def tab(index, browser):
    """Return a tab of 1,280 pixels."""
    return browser.new_page(viewport={"width": 1280, "height": 900})


@pytest.mark.parametrize(("words", "page"), SEARCHES.items())
def test_the_search_finds_the_page_first(tab, words, page):
    tab.goto(f"{(SITE / 'search.html').as_uri()}?q={quote(words)}")
    tab.wait_for_function(FOUND)
    assert tab.eval_on_selector_all("#search-results ul.search li > a", FIRST) == f"{SITE}/{page}.html"


def test_no_block_of_code_is_wider_than_the_page(tab):
    """Commands and printed sentences may be wrapped; code and tables may not."""
    wide = {}
    for page in sorted(page for page in SITE.rglob("*.html") if "<pre" in page.read_text(encoding="utf-8")):
        tab.goto(page.as_uri())
        tab.add_style_tag(content=UNWRAPPED)
        for block in tab.eval_on_selector_all("pre", OVERFLOWING):
            lines = [line for line in block.splitlines() if len(line) > 100 and not SENTENCE.fullmatch(line)]
            if lines:
                wide[page.relative_to(SITE).as_posix()] = lines
    assert wide == {}


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_printed_page(tab, size):
    tab.goto((SITE / "reference" / "cheat-sheet.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format=size))) == 1

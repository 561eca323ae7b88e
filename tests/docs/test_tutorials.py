"""The tutorials show what the code prints."""

import doctest
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


@pytest.mark.parametrize("page", sorted(path.name for path in TUTORIALS.glob("*.md")))
def test_the_page_shows_what_its_code_prints(page):
    # Markdown's fences end an example as a blank line does.
    text = (TUTORIALS / page).read_text().replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    report = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)

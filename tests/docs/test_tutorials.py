"""The tutorial in the form of a Python session shows the output of its code."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "five-lines-in-a-notebook.md"


def test_the_page_shows_what_its_code_prints():
    # Markdown's fences end an example as a blank line does.
    text = PAGE.read_text().replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    report = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)

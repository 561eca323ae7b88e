"""The generated pages of the reference are those that the code gives."""

import importlib.util

import pytest

from protocol.cli.list import markdown


@pytest.fixture(scope="module")
def generate(root):
    spec = importlib.util.spec_from_file_location("generate", root / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name",
    [
        "datasets",
        "features",
        "ground-truths",
        "splits",
        "hashers",
        "metrics",
        "conventions",
        "findings",
        "command-line",
        "configuration",
    ],
)
def test_the_stored_page_is_the_generated_one(generate, root, name):
    page = generate.pages()[name]()
    assert (root / "docs" / "reference" / f"{name}.md").read_text() == page, "run python docs/generate.py"


def test_every_page_is_compared(generate):
    compared = test_the_stored_page_is_the_generated_one.pytestmark[0].args[1]
    # tests/claims/test_ledger.py compares the page of claims, tests/workflow/test_default.py that of files.
    assert {*generate.pages()} == {*compared, "claims"}


def test_a_page_has_the_table_of_protocol_list_and_a_section_for_each_name(generate, root):
    page = (root / "docs" / "reference" / "hashers.md").read_text()
    for row in markdown("hasher").splitlines()[2:]:
        name, _, others = row.removeprefix("| `").partition("` | ")
        assert f"| [`{name}`](#{name}) | {others}" in page
        assert f"\n## `{name}`\n" in page
    assert "| `n_iter` | int | `50` | Number of updates of R, at least 1. |" in page


def test_anchors_are_those_of_the_site(generate):
    assert [generate._anchor(name) for name in ("mAP@K[all]", "1-recall@K", "query-in-train")] == [
        "mapkall",
        "1-recallk",
        "query-in-train",
    ]

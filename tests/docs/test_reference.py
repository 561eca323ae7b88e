"""The stored pages of the reference equal the generated ones."""

import importlib.util
import re

import pytest

from protocol.auditing import KIND_OF
from protocol.cli._explanation import properties
from protocol.cli.list import markdown


@pytest.fixture(scope="module")
def generate(root):
    spec = importlib.util.spec_from_file_location("generate", root / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stored_pages_are_the_generated_ones(generate, root, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name, page in generate.pages().items():
        if name != "claims":  # tests/papers/test_ledger.py compares it
            stored = (root / "docs" / "reference" / f"{name}.md").read_text()
            assert stored == page(), f"{name}.md: run python docs/generate.py"


def test_every_package_has_a_page(generate, root):
    packages = {path.parent.name for path in (root / "protocol").glob("*/__init__.py")}
    assert packages - {"cli", "inputs"} == generate._PACKAGES.keys()


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


@pytest.mark.parametrize("kind", KIND_OF.values(), ids=lambda kind: kind.name)
def test_no_finding_shows_a_placeholder(kind):
    words = dict.fromkeys(re.findall(r"\{(\w+)", kind.template), "word")
    for text in (*dict(properties("finding", kind)).values(), kind.summary, kind.consequence_of(**words)):
        assert not set(text) & set("{}|"), text
        assert "  " not in text
        assert text.endswith(".")


def test_no_generated_page_shows_a_placeholder(root):
    for page in (root / "docs" / "reference").rglob("*.md"):
        prose = re.sub(r"```.*?```|\$\$.*?\$\$|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"(?<![_^}\w])\{\w*(?::\w+)?\}", prose), page

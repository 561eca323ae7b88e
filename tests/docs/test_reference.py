"""The stored pages of the reference equal the generated ones."""

import re

import pytest
from page_blocks import script

import protocol as hp
from protocol.configuration.schema import keys

generate = script("generate")


def test_the_stored_pages_are_the_generated_ones(root, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name, page in generate.pages().items():
        if name != "claims":  # tests/papers/test_ledger.py compares it
            stored = (root / "docs" / "reference" / f"{name}.md").read_text()
            assert stored == page(), f"{name}.md: run python docs/generate.py"


def test_every_key_of_a_config_file_is_described():
    def undescribed(declared):
        if isinstance(declared, dict):
            below = declared.get("properties", {}).items()
            yield from (key for key, own in below if "description" not in own and "oneOf" not in own)
            yield from (key for own in declared.values() for key in undescribed(own))
        elif isinstance(declared, list):
            yield from (key for own in declared for key in undescribed(own))

    assert set(undescribed(keys()["properties"])) == {"query", "database"}  # explained by `preprocessing`


def test_the_public_names_are_those_of_the_page(root):
    page = (root / "docs" / "reference" / "python.md").read_text().partition("## Results")[0]
    assert {"__version__", *re.findall(r"^   (\w+)$", page, re.M)} == set(hp.__all__)


@pytest.mark.parametrize("kind", ["dataset", "feature", "ground_truth", "hasher", "split"])
def test_the_docstring_of_every_plug_in_has_all_its_options(kind):
    for name in hp.names(kind):
        for option, (form, _) in generate.documented(kind, name).items():
            assert form, f"{kind} {name}: {option} is not in the docstring's Parameters"


def test_no_generated_page_shows_a_placeholder(root):
    for page in (root / "docs" / "reference").rglob("*.md"):
        prose = re.sub(r"```.*?```|\$\$.*?\$\$|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"(?<![_^}\w])\{\w*(?::\w+)?\}", prose), page

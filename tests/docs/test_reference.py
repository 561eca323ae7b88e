"""The stored pages of the reference equal the generated ones."""

import importlib
import inspect
import re

import pytest
from page_blocks import script

from protocol.auditing import KIND_OF
from protocol.cli.list import properties

generate = script("generate")


def test_the_stored_pages_are_the_generated_ones(root, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name, page in generate.pages().items():
        if name != "claims":  # tests/papers/test_ledger.py compares it
            stored = (root / "docs" / "reference" / f"{name}.md").read_text()
            assert stored == page(), f"{name}.md: run python docs/generate.py"


def test_no_page_is_stored_that_is_no_longer_generated(root):
    reference = root / "docs" / "reference"
    stored = {page.relative_to(reference).with_suffix("").as_posix() for page in reference.glob("*/**/*.md")}
    assert stored == {name for name in generate.pages() if "/" in name}


def test_a_plug_in_of_an_unknown_family_is_in_the_index(monkeypatch):
    monkeypatch.setitem(generate._FAMILIES, "hasher", {"Without labels": ["hashers"]})
    index = generate.pages()["hashers"]()
    assert index.index("## Without labels") < index.index("[`itq`]") < index.index("## Others") < index.index("[`ksh`]")


def test_every_package_has_a_page(root):
    packages = {path.parent.name for path in (root / "protocol").glob("*/__init__.py")}
    assert packages - {"cli", "inputs"} | {"verification"} == generate._PACKAGES.keys()


@pytest.mark.parametrize("kind", KIND_OF.values(), ids=lambda kind: kind.name)
def test_no_finding_shows_a_placeholder(kind):
    words = dict.fromkeys(re.findall(r"\{(\w+)", kind.template), "word")
    for text in (*dict(properties(kind)).values(), kind.summary, kind.consequence_of(**words)):
        assert not set(text) & set("{}|"), text
        assert "  " not in text
        assert text.endswith(".")


def test_no_generated_page_shows_a_placeholder(root):
    for page in (root / "docs" / "reference").rglob("*.md"):
        prose = re.sub(r"```.*?```|\$\$.*?\$\$|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"(?<![_^}\w])\{\w*(?::\w+)?\}", prose), page


def documented(module):
    """Yield the public classes and functions of a module, and the methods of the classes, with their docstrings."""
    content = importlib.import_module(module)
    listed = getattr(content, "__all__", None)
    for name in listed or dir(content):
        member = getattr(content, name)
        if not (inspect.isclass(member) or inspect.isfunction(member)):
            continue
        if listed is None and (name.startswith("_") or member.__module__ != module):
            continue
        yield name, inspect.getdoc(member)
        if inspect.isclass(member):
            methods = inspect.getmembers(member, inspect.isroutine)
            yield from ((f"{name}.{method}", inspect.getdoc(value)) for method, value in methods if method[0] != "_")


def test_no_two_parameters_share_a_description(root):
    pages = "".join(page.read_text() for page in (root / "docs" / "reference").rglob("*.md"))
    modules = re.findall(r"automodule:: (\S+)", pages)
    assert len(modules) > 80
    shared = {
        f"{module}.{name}": found
        for module in modules
        if module.startswith("protocol")
        for name, text in documented(module)
        if (found := re.findall(r"^\*?\w+(?:, \w+)+(?: : .*)?\n    .+", text or "", re.MULTILINE))
    }
    assert shared == {}

"""The pages that error messages and `protocol list` name exist, and real errors name them."""

from pathlib import Path

import pytest

from protocol import registry
from protocol.cli import main
from protocol.pages import OF_ERROR, OF_KIND

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    (("list", "metrics", "mAP@100"), "docs/explanation/cutoffs-and-denominators.md"),
    (("check", "--config", "hasher=[lsh]"), "docs/reference/configuration.md"),
    (("compare", "a.json", "b.json"), "docs/how-to/compare-results.md"),
    (("check", "--config", "dataset=cifar10", "experiment=a"), "docs/explanation/ground-truths.md"),
    (("list", "metrics", "MAP"), "docs/reference/metrics.md"),
    (("list", "findings", "duplicate"), "docs/reference/findings.md"),
    (("check", "--config", "splits=[improve]", "experiment=a"), "docs/reference/splits.md"),
]


def test_every_page_exists():
    for page in (*OF_KIND.values(), *OF_ERROR.values()):
        assert (ROOT / page).is_file(), page


def test_every_kind_has_a_page():
    assert set(OF_KIND) == {*registry.PACKAGES, "finding", "convention"}


def test_every_page_of_an_error_has_an_example():
    assert {page for _, page in EXAMPLES} == set(OF_ERROR.values())


@pytest.mark.parametrize(("arguments", "page"), EXAMPLES)
def test_an_error_names_the_page_that_explains_it(arguments, page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, labels in (("a", "0 1 1 0"), ("b", "0 1 1")):
        Path(f"{name}.txt").write_text("\n".join(labels.split()) + "\n")
        Path(f"{name}_codes.txt").write_text("\n".join(f"{label} 1" for label in labels.split()) + "\n")
        codes, of_items = f"{name}_codes.txt", f"{name}.txt"
        inputs = ("--query-codes", codes, "--database-codes", codes)
        outputs = ("--query-labels", of_items, "--database-labels", of_items, "--json", f"{name}.json")
        assert main(["evaluate", *inputs, *outputs]) == 0
    capsys.readouterr()
    assert main([*arguments]) == 2
    assert capsys.readouterr().err.endswith(f" See {page}.\n")

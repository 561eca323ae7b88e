"""The codes that the authors of CSQ published for UCF101, and the page on their three mAPs."""

import doctest
import re
import shlex

import numpy as np
import pytest
from encoded import evaluated

from protocol.cli import main

NAMES = ("test_hash", "database_hash", "test_label", "database_label")


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "published_codes" / "ucf101"


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "explanation" / "same-codes-three-numbers.md").read_text()


def test_the_page_shows_the_output_of_its_commands(folder, page, monkeypatch, capsys):
    """The codes after ```sh and ```python, each with its output after ```text."""
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```\n\n^```text\n(.*?)^```$", page, re.S | re.M)
    assert [language for language, *_ in blocks] == ["sh", "sh", "python", "sh"]
    assert page.count("```") == 4 * len(blocks) + 2 * page.count("```{index}")
    for language, code, output in blocks:
        if language == "python":
            exec(compile(code, "same-codes-three-numbers.md", "exec"), {})
        else:
            program, *arguments = shlex.split(code.replace("\\\n", " "))
            assert program == "protocol"
            assert main(arguments) == 0
        printed = capsys.readouterr().out
        assert doctest.OutputChecker().check_output(output, printed, doctest.ELLIPSIS), printed


def test_the_numbers_in_the_sentences_of_the_page(folder, page):
    query, database, of_query, of_database = (np.load(folder / f"{name}.npy") for name in NAMES)
    options = {"query_labels": of_query, "database_labels": of_database, "binarize": "sign"}
    names = ["mAP@100[retrieved]", "mAP@100[all]", "mAP@100[min]", "R@100", "mAP[worst]", "mAP[best]"]
    result = evaluated(query, database, **options, metrics=names)
    prose = " ".join(re.sub("^```.*?^```$", "", page, flags=re.S | re.M).split())
    retrieved, everything, smaller, recall, worst, best = result.metrics.values()
    sizes = np.bincount(of_database.astype(int))
    (other,) = evaluated(query, database, **options, metrics=names[:1], ranking="asymmetric").metrics.values()
    for sentence in (
        f"{query.shape[1]} real values for each of the {len(query):,} test videos",
        f"the queries, and the {len(database):,} training videos",
        f"has {sizes.min()} to {sizes.max()} relevant items",
        f"contain {100 * recall:.1f} % of the relevant items (`R@100`)",
        f"the {np.count_nonzero(sizes < 100)} classes with fewer than 100 training videos",
        f"puts {retrieved:.4f} from one paper next to {everything:.4f} from another",
        f"For {result.n_undefined['mAP@100[retrieved]']} queries, no relevant item is among the first 100",
        f"raises `mAP@100[retrieved]` by {other - retrieved:.4f}.",
        f"by Hamming distance, mAP is {worst:.4f} to {best:.4f}, depending on their order",
    ):
        assert sentence in prose
    assert everything < smaller < retrieved
    assert sizes[sizes > 0].size == np.unique(of_query).size

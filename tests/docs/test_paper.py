"""The paper for JOSS: its numbers are those of the stored tables, and its form is that of the journal."""

import re

import pandas as pd
import pytest
import yaml
from page_blocks import DOCS, ROOT

FOLDER = DOCS / "paper"
_, HEAD, TEXT = (FOLDER / "paper.md").read_text().split("---\n", 2)
SOURCES = yaml.safe_load((FOLDER / "numbers.yaml").read_text())
# Names and definitions that contain a number.
DEFINED = ("CIFAR-10", "mAP@1000", "among the first 1,000", "first 1,000 can contain", "codes of 64 bits", "radius 2",
           "where 5 % are nominal")  # fmt: skip


def numbers():
    """Return the numbers in the text, without those in citations, the figure and definitions."""
    text = " ".join(re.sub(r"!\[[^]]*\]\([^)]*\)|@\w+", "", TEXT).split())
    for words in DEFINED:
        assert words in text or words == "mAP@1000", words
        text = text.replace(words, "")
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


def test_every_number_has_a_source():
    assert list(dict.fromkeys(numbers())) == list(SOURCES)


@pytest.mark.parametrize("number", SOURCES)
def test_a_number_is_that_of_a_stored_table(number):
    source = SOURCES[number]
    values = pd.read_csv(ROOT / "results" / "reference" / source["table"]).query(source["rows"])[source["column"]]
    assert len(values) > 0
    if "of" not in source:
        assert len(set(values)) == 1
    value = values.agg(source.get("of", "max"))
    assert number == (f"{value:.1%}"[:-1] if source["format"] == "%" else format(value, source["format"]))


def test_its_sentences_about_all_ranks_and_the_best_method_hold():
    ranks = pd.read_csv(ROOT / "results/reference/near_duplicates/duplicates.csv").query("metric == 'mAP'")
    assert len(ranks) == 144
    assert [ranks[name].nunique() for name in ("split", "ground_truth", "n_bits")] == [3, 2, 3]
    scores = pd.read_csv(ROOT / "results/reference/unseen/scores_by_run.csv")
    of_noisy = scores.query("split == 'cifar_noisy' and labels == 'worst' and n_bits == 32")
    assert of_noisy.groupby("hasher")["mAP"].mean().idxmax() == "talr_ap"
    leak = pd.read_csv(ROOT / "results/reference/leak/leak_summary.csv")
    assert leak.query("ground_truth == 'class_label' and not control")["n_train"].nunique() == 3


def test_it_has_the_form_of_the_journal():
    head = yaml.safe_load(HEAD)
    assert {"title", "tags", "authors", "date", "bibliography"} <= set(head)
    assert head["title"] == yaml.safe_load((ROOT / "CITATION.cff").read_text())["title"]
    assert len(TEXT.split()) <= 1000
    sections = ["Summary", "Statement of need", "State of the field", "What is new", "What was found", "References"]
    assert re.findall(r"^# (.+)$", TEXT, re.M) == sections
    entries = re.findall(r"^@\w+\{(\w+),$", (FOLDER / head["bibliography"]).read_text(), re.M)
    assert sorted(set(re.findall(r"@(\w+)", TEXT.replace("mAP@1000", "")))) == entries

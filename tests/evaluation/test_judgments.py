"""Judgments of TREC and BEIR as the ground truth of codes."""

import json

import numpy as np
import pytest
from encoded import message_of, refusals, refuses

import protocol as hp
from protocol.cli import main

QUERIES, ITEMS = ["q7", "q2", "301"], ["d3", "d1", "FT911-3", "d9"]
QRELS = "q2 0 d1 2\nq2 0 FT911-3 1\n301 0 d9 0\n301 0 d3 -2\n301\t0  d1 1\nq2 0 d9 0\n"
CODES = np.array([[0, 0], [1, 1], [0, 0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 0]])


@pytest.fixture
def files(here):
    for name, lines in {"q.txt": QUERIES, "d.txt": ITEMS}.items():
        (here / name).write_text("".join(f"{line}\n" for line in lines))
    (here / "qrels.txt").write_text(QRELS)
    for name, array in zip(("q.npy", "d.npy"), CODES, strict=True):
        np.save(here / name, array)
    return here


def relevance(judgments="qrels.txt", query_ids="q.txt", database_ids="d.txt"):
    truth = hp.Judgments(judgments, query_ids, database_ids)
    result = hp.evaluate(*CODES, truth=truth, metrics=["mAP"]).truth.relevance
    return [dict(zip(*map(list, result.row(row)), strict=True)) for row in range(3)]


MAPPING = {"q2": {"d1": 2, "FT911-3": 1, "d9": 0}, "301": {"d9": 0, "d3": -2, "d1": 1}}


@pytest.mark.parametrize("judgments", ["qrels.txt", MAPPING], ids=["file", "mapping"])
@pytest.mark.parametrize("ids", [("q.txt", "d.txt"), (QUERIES, np.array(ITEMS))])
def test_levels_are_those_of_the_judgments(files, judgments, ids):
    assert relevance(judgments, *ids) == [{}, {1: 2, 2: 1}, {1: 1}]


def test_scores_by_hand(files):
    """Query q2 is 11: FT911-3 is first, and d1 ties with d9 in the second place. Query 301: d1 ties in second place."""
    truth = hp.Judgments("qrels.txt", "q.txt", "d.txt")
    result = hp.evaluate(*CODES, truth=truth, metrics=["mAP", "P@1"])
    of_tie = (1 + (2 / 2 + 2 / 3) / 2) / 2, (1 / 2 + 1 / 3) / 2
    assert result.metrics["mAP"] == pytest.approx((0 + sum(of_tie)) / 3)
    assert result.metrics["P@1"] == pytest.approx(1 / 3)


def test_qrels_of_beir(files):
    header, lines = "query-id\tcorpus-id\tscore\n", ["q2\td1\t2\n", "301\td9\t0\n"]
    (files / "test.tsv").write_text("".join([header, *lines]))
    assert relevance("test.tsv") == [{}, {1: 2}, {}]
    (files / "test.tsv").write_text("".join([header, *lines, "q2\t0\td1\t2\n"]))
    refuses(r"^test.tsv, line 4: 'q2\\t0\\td1\\t2' is not `query item level`\.", relevance, "test.tsv")


def test_a_record_names_the_judgments_and_can_be_verified(files, capsys):
    ids = ["--relevance", "qrels.txt", "--query-ids", "q.txt", "--database-ids", "d.txt"]
    codes = ["--query-codes", "q.npy", "--database-codes", "d.npy"]
    assert main(["evaluate", *codes, *ids, "--metrics", "mAP", "nDCG", "--json", "mine.json"]) == 0
    inputs = json.loads((files / "mine.json").read_text())["inputs"]
    assert [inputs[role] for role in ("relevance", "query_ids", "database_ids")] == ["qrels.txt", "q.txt", "d.txt"]
    assert main(["verify", "mine.json"]) == 0
    (files / "qrels.txt").write_text(QRELS.replace("d1 2", "d1 3"))
    capsys.readouterr()
    assert main(["verify", "mine.json"]) == 1
    assert "nDCG" in capsys.readouterr().out


@pytest.mark.parametrize(("change", "message"), refusals("evaluation/judgments.yaml"))
def test_refusals(files, change, message):
    (files / "qrels.txt").write_text(change.pop("content", QRELS))
    assert message_of(lambda: relevance(**change)).startswith(message)

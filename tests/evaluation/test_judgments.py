"""Judgments of TREC as the ground truth, compared with trec_eval where no items are tied."""

import json

import numpy as np
import pytest
import pytrec_eval
from encoded import refusals

import protocol as hp
from protocol.checks import ProtocolError
from protocol.cli import main

QUERIES, ITEMS = ["q7", "q2", "301"], ["d3", "d1", "FT911-3", "d9"]
QRELS = "q2 0 d1 2\nq2 0 FT911-3 1\n301 0 d9 0\n301 0 d3 -2\n301\t0  d1 1\nq2 0 d9 0\n"
CODES = np.array([[0, 0], [1, 1], [0, 0]]), np.array([[0, 0], [0, 1], [1, 1], [1, 0]])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in {"q.txt": QUERIES, "d.txt": ITEMS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "qrels.txt").write_text(QRELS)
    for name, array in zip(("q.npy", "d.npy"), CODES, strict=True):
        np.save(tmp_path / name, array)
    return tmp_path


def relevance(judgments="qrels.txt", query_ids="q.txt", database_ids="d.txt"):
    result = hp.evaluate(
        *CODES, truth=hp.Judgments(judgments, query_ids, database_ids), metrics=["mAP"]
    ).truth.relevance
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
    with pytest.raises(ProtocolError, match=r"^test.tsv, line 4: 'q2\\t0\\td1\\t2' is not `query item level`\."):
        relevance("test.tsv")


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
    with pytest.raises(ProtocolError) as error:
        relevance(**change)
    assert str(error.value).startswith(message)


def test_scores_are_those_of_trec_eval_without_ties(tmp_path):
    """Asymmetric rankings have no ties. Gains of nDCG are 2^level - 1, those of trec_eval are the levels."""
    rng = np.random.default_rng(4)
    query, bits = rng.standard_normal((12, 24)), rng.random((80, 24)) < 0.5
    scores = query @ np.where(bits, 1, -1).T
    assert all(len(np.unique(row)) == 80 for row in scores)
    queries, items = [f"Q{row}" for row in range(12)], [f"D-{row:02d}" for row in rng.permutation(80)]
    levels = {
        name: {items[item]: int(rng.integers(-1, 4)) for item in rng.choice(80, 25, False)} for name in queries[1:]
    }
    levels[queries[1]] = dict.fromkeys(levels[queries[1]], 0)
    lines = [f"{name} 0 {item} {level}\n" for name, judged in levels.items() for item, level in judged.items()]
    (tmp_path / "qrels").write_text("".join(rng.permutation(lines)))
    run = {name: dict(zip(items, map(float, row), strict=True)) for name, row in zip(queries, scores, strict=True)}
    metrics = {"mAP": "map", "P@10": "P_10", "nDCG": "ndcg", "R@20": "recall_20", "mAP@10[all]": "map_cut_10"}
    gains = {name: {item: 2 ** max(level, 0) - 1 for item, level in judged.items()} for name, judged in levels.items()}
    expected = pytrec_eval.RelevanceEvaluator(gains, set(metrics.values())).evaluate(run)
    truth = hp.Judgments(tmp_path / "qrels", queries, items)
    result = hp.evaluate(hp.Outputs(query), bits, truth=truth, metrics=list(metrics)).per_query
    for ours, theirs in metrics.items():
        of_queries = [expected[name][theirs] for name in queries[2:]]
        np.testing.assert_allclose(result[ours][2:], of_queries, atol=1e-6, err_msg=ours)
        assert np.nan_to_num(result[ours][:2]).tolist() == [0, 0], "queries without relevant items"

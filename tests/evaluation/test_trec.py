import json
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from protocol.cli import main
from protocol.evaluation import Relevant, evaluate, output
from protocol.truth.relevance import LabelRelevance

N_BITS = 6  # few, so that there are many ties


def case(*, graded=False):
    """Codes, a ground truth with a query without relevant items, and that of the reversed database."""
    rng = np.random.default_rng(3)
    query, database = (rng.random((n, N_BITS)) < 0.5 for n in (15, 200))
    if graded:
        of_query, of_database = rng.random((15, 4)) < 0.4, rng.random((200, 4)) < 0.3
        of_query[4] = False
    else:
        of_query, of_database = rng.integers(0, 6, 15), rng.integers(0, 5, 200)
        of_query[4] = 9
    return query, database, *(LabelRelevance(of_query, labels) for labels in (of_database, of_database[::-1]))


def trec_eval(written, measure="map"):
    """The mean over the queries, as trec_eval computes it."""
    with open(written.qrels) as qrels, open(written.run) as run:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {measure})
        return np.mean([values[measure] for values in evaluator.evaluate(pytrec_eval.parse_run(run)).values()])


@pytest.mark.parametrize(("convention", "graded"), [("default", False), ("hashnet", True)])
@pytest.mark.parametrize("depth", [output.DEPTH, 37])
def test_trec_eval_computes_the_reported_map_from_the_files(tmp_path, monkeypatch, depth, graded, convention):
    query, database, truth, reversed_truth = case(graded=graded)
    result = evaluate(query, database, truth=Relevant(truth), metrics=["mAP"], convention=convention)
    monkeypatch.setattr(output, "DEPTH", depth)
    written = result.to_trec(tmp_path / "new")
    assert (written.depth, written.metric) == ((37, "mAP@37[all]") if depth == 37 else (200, "mAP"))
    assert trec_eval(written) == pytest.approx(written.by_document_id, abs=1e-6)
    if depth != 37:
        assert written.expected == result.metrics["mAP"]
        options = {"metrics": ["mAP[database-order]"], "convention": convention}
        by_id = evaluate(query, database[::-1], truth=Relevant(reversed_truth), **options)
        assert written.by_document_id == pytest.approx(by_id.metrics["mAP[database-order]"], abs=1e-12)
    assert written.moved == written.by_document_id - written.expected
    assert abs(written.moved) > 1e-4


def test_the_files(tmp_path, monkeypatch):
    """Items 1 and 2 are tied: the larger id is first. The second query has no relevant item."""
    monkeypatch.setattr(output, "DEPTH", 2)
    labels = {"query_labels": [7, 9], "database_labels": [8, 7, 7]}
    evaluate([[0, 0], [1, 1]], [[1, 1], [0, 1], [1, 0]], **labels).named("my codes").to_trec(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qrels", "run"]
    assert (tmp_path / "run").read_text().splitlines() == [
        "q000000 Q0 d0000002 1 1 my_codes",
        "q000000 Q0 d0000001 2 1 my_codes",
        "q000001 Q0 d0000000 1 2 my_codes",
        "q000001 Q0 d0000002 2 1 my_codes",
    ]
    qrels = ["q000000 0 d0000001 1", "q000000 0 d0000002 1", "q000001 0 d0000000 0"]
    assert (tmp_path / "qrels").read_text().splitlines() == qrels


def test_the_command_writes_the_files_and_reports_the_effect_of_ties(here, monkeypatch, capsys):
    monkeypatch.setattr(output, "DEPTH", 30)
    labels, files = {"query_labels": np.arange(15) % 4, "database_labels": np.arange(200) % 4}, []
    query, database, *_ = case()
    for name, array in ({"query_codes": query, "database_codes": database} | labels).items():
        np.save(f"{name}.npy", array)
        files += [f"--{name.replace('_', '-')}", f"{name}.npy"]
    assert main(["evaluate", *files, "--trec", "trec", "--json", "out.json"]) == 0
    computed = evaluate(query, database, **labels).to_trec("again")
    for name in ("run", "qrels"):
        assert Path(f"trec/{name}").read_text() == Path(f"again/{name}").read_text()
    written = json.loads(Path("out.json").read_text())["trec"]
    assert written == json.loads(computed.to_json())["trec"] | {"run": "trec/run", "qrels": "trec/qrels"}
    effect = f"moves mAP@30[all] from {computed.expected:.4f} to {computed.by_document_id:.4f} ("
    assert effect in " ".join(capsys.readouterr().out.split())

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from protocol import codes, metrics
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.counting import count
from protocol.evaluation import evaluate
from protocol.evaluation.code_pairs import CodePair
from protocol.evaluation.trec import TIES, TrecOptions, write_trec
from protocol.truth.relevance import LabelRelevance, NeighbourRelevance

N_BITS = 6  # few, so that there are many ties


def case(*, graded=False, n_database=200):
    """Codes, counts, counts of the reversed database, and a ground truth with queries without relevant items."""
    rng = np.random.default_rng(3)
    query, database = (codes.pack(rng.random((n, N_BITS)) < 0.5) for n in (15, n_database))
    if graded:
        of_query, of_database = rng.random((15, 4)) < 0.4, rng.random((n_database, 4)) < 0.3
        of_query[4] = False
    else:
        of_query, of_database = rng.integers(0, 6, 15), rng.integers(0, 5, n_database)
        of_query[4] = 9
    truth, reversed_truth = (LabelRelevance(of_query, labels) for labels in (of_database, of_database[::-1]))
    counts = count(query, database, N_BITS, {"t": truth})["t"]
    by_id = count(query, database[::-1].copy(), N_BITS, {"t": reversed_truth}, index_order=True)["t"]
    return CodePair(query, database, N_BITS), counts, truth, by_id


def trec_eval(written, measure="map"):
    """The mean over the queries, as trec_eval computes it."""
    with open(written.qrels) as qrels, open(written.run) as run:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {measure})
        return np.mean([values[measure] for values in evaluator.evaluate(pytrec_eval.parse_run(run)).values()])


@pytest.mark.parametrize(("empty", "graded"), [("zero", False), ("drop", True)])
@pytest.mark.parametrize("depth", [None, 37, 10_000])
@pytest.mark.parametrize("ties", TIES)
def test_trec_eval_computes_the_reported_map_from_the_files(tmp_path, ties, depth, graded, empty):
    *inputs, by_id = case(graded=graded)
    written = write_trec(*inputs, TrecOptions(tmp_path / "new", depth=depth, ties=ties, seed=5), empty=empty)
    assert (written.depth, written.metric) == ((37, "mAP@37[all]") if depth == 37 else (200, "mAP"))
    assert trec_eval(written) == pytest.approx(written.of_run, abs=1e-6)
    assert written.expected == metrics.mean(metrics.evaluate(inputs[1], [written.metric], empty=empty)[written.metric])
    if ties == "distance":
        assert written.of_run == written.by_document_id
    if depth != 37:
        in_order = metrics.mean(metrics.evaluate(by_id, ["mAP[index]"], empty=empty)["mAP[index]"])
        assert written.by_document_id == pytest.approx(in_order, abs=1e-12)
    assert written.moved == written.by_document_id - written.expected
    assert abs(written.moved) > 1e-4


@pytest.mark.parametrize("depth", [None, 37])
def test_evenly_spread_items_have_nearly_the_expected_map(tmp_path, depth):
    *inputs, _ = case()
    spread = write_trec(*inputs, TrecOptions(tmp_path, depth=depth))
    assert abs(spread.of_run - spread.expected) < (1e-4 if depth is None else 5e-4)
    assert depth or abs(spread.moved) > 1e-3


def test_shuffled_ties_depend_on_the_seed_only_and_their_mean_is_the_expected_map(tmp_path):
    *inputs, _ = case()
    options = [TrecOptions(tmp_path / str(seed), ties="shuffled", seed=seed) for seed in range(40)]
    of_seeds = [write_trec(*inputs, each).of_run for each in options]
    again = write_trec(*inputs, TrecOptions(tmp_path / "again", ties="shuffled", seed=7))
    assert (tmp_path / "again" / "run").read_bytes() == (tmp_path / "7" / "run").read_bytes()
    assert again.of_run == of_seeds[7] != of_seeds[8]
    assert np.mean(of_seeds) == pytest.approx(again.expected, abs=4 * np.std(of_seeds) / 40**0.5)


@pytest.mark.parametrize("ties", TIES)
def test_the_files(tmp_path, ties):
    *inputs, _ = case(graded=True)
    (query, database, *_), _, truth = inputs
    written = write_trec(*inputs, TrecOptions(tmp_path, depth=50, ties=ties), tag="my codes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qrels", "run"]
    lines = [line.split(" ") for line in (tmp_path / "run").read_text().splitlines()]
    assert [len(line) for line in lines] == [6] * 15 * 50
    distances = codes.hamming_distance(query, database)
    for q in range(15):
        of_query = lines[50 * q : 50 * (q + 1)]
        ids = [int(line[2][1:]) for line in of_query]
        assert {(line[0], line[1], line[5]) for line in of_query} == {(f"q{q:06}", "Q0", "my_codes")}
        assert [line[2] for line in of_query] == [f"d{row:07}" for row in ids]
        assert [int(line[3]) for line in of_query] == list(range(1, 51))
        assert len(set(ids)) == 50
        assert distances[q, ids].tolist() == sorted(distances[q])[:50]
        scores = [int(line[4]) for line in of_query]
        if ties == "distance":
            assert scores == [N_BITS - d for d in distances[q, ids]]
            assert of_query == sorted(of_query, key=lambda line: (int(line[4]), line[2]), reverse=True)
        else:
            assert scores == list(range(50, 0, -1))
    judged = [line.split(" ") for line in (tmp_path / "qrels").read_text().splitlines()]
    for q in range(15):
        positions, levels = truth.row(q)
        reference = [[f"q{q:06}", "0", f"d{p:07}", str(v)] for p, v in zip(positions, levels, strict=True)]
        assert [line for line in judged if line[0] == f"q{q:06}"] == (reference or [[f"q{q:06}", "0", "d0000000", "0"]])
    assert written.seed == (0 if ties == "shuffled" else None)


def test_long_numbers_widen_the_ids(monkeypatch, tmp_path):
    from protocol.evaluation import trec

    assert trec._ids("d", 2, 101)[::50] == ["d000", "d050", "d100"]
    monkeypatch.setattr(trec, "_EXACT", 20)
    *inputs, _ = case()
    with pytest.raises(ProtocolError, match=r"trec_depth must be at most 20, the number of scores that trec_eval"):
        write_trec(*inputs, TrecOptions(tmp_path, depth=21))
    assert write_trec(*inputs, TrecOptions(tmp_path, depth=21, ties="distance")).depth == 21


def test_a_failure_leaves_no_files(tmp_path):
    pair, counts, truth, _ = case()

    class Broken:
        def row(self, query):
            if query == 3:
                raise RuntimeError("stop")
            return truth.row(query)

    with pytest.raises(RuntimeError, match="stop"):
        write_trec(pair, counts, Broken(), TrecOptions(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_options_out_of_their_range(tmp_path):
    (tmp_path / "file").touch()
    for options, message in (
        ({"ties": "best"}, "trec_ties must be distance, expected or shuffled, got 'best'[.]"),
        ({"depth": 0}, "trec_depth must be an integer >= 1, got 0[.]"),
        ({"seed": -1}, "trec_seed must be an integer >= 0, got -1[.]"),
        ({"folder": tmp_path / "file"}, "file: can't be written"),
    ):
        with pytest.raises(ProtocolError, match=message):
            TrecOptions(**{"folder": tmp_path} | options)


def arrays():
    rng = np.random.default_rng(1)
    query, database = rng.random((8, N_BITS)) < 0.5, rng.random((120, N_BITS)) < 0.5
    return query, database, rng.integers(0, 4, 8), rng.integers(0, 4, 120)


def test_the_command_writes_the_files_and_reports_the_effect_of_ties(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = ["evaluate", "--metric", "mAP"]
    for name, array in zip(("query-codes", "database-codes", "query-labels", "database-labels"), arrays(), strict=True):
        np.save(f"{name}.npy", array)
        files += [f"--{name}", f"{name}.npy"]
    assert main([*files, "--trec", "trec", "--trec-depth", "30", "--json", "out.json", "--name", "mine"]) == 0
    query, database, of_query, of_database = arrays()
    labels = {"query_labels": of_query, "database_labels": of_database}
    computed = evaluate(query, database, **labels).named("mine").to_trec(TrecOptions("again", depth=30))
    for name in ("run", "qrels"):
        with open(f"trec/{name}") as of_command, open(f"again/{name}") as of_function:
            assert of_command.read() == of_function.read()
    assert json.loads(Path("out.json").read_text())["trec"] == json.loads(computed.to_json())["trec"] | {
        "run": "trec/run",
        "qrels": "trec/qrels",
    }
    shown = capsys.readouterr().out
    assert main([*files, "--trec", "again", "--trec-ties", "shuffled", "--trec-seed", "3"]) == 0
    assert "ties shuffled with seed 3" in capsys.readouterr().out
    assert main([*files, "--trec-depth", "5"]) == 2
    assert "--trec-depth needs --trec DIR as well." in capsys.readouterr().err
    assert "TREC files trec/run and trec/qrels: 30 items per query, ties expected; " in shown
    assert re.search(f"^ties by document id, as trec_eval orders them  {computed.by_document_id:.4f}$", shown, re.M)
    means = f"from {computed.expected:.4f} to {computed.by_document_id:.4f}"
    assert f"trec_eval's tie-breaking moves mAP@30[all] {means} ({computed.moved:+.2g}):" in " ".join(shown.split())


def test_a_folder_is_enough_and_a_mean_over_nothing_is_null(tmp_path):
    bits, nothing = np.zeros((1, 1), dtype=np.uint8), NeighbourRelevance([0, 0], [], 1)
    counts = count(bits, bits, 1, {"": nothing})[""]
    trec = write_trec(CodePair(bits, bits, 1), counts, nothing, TrecOptions(tmp_path / "trec"), empty="drop")
    assert (tmp_path / "trec" / "qrels").read_text() == ""
    assert math.isnan(trec.expected)
    assert "tie-breaking moves" not in str(trec)
    written = json.loads(trec.to_json())["trec"]
    assert {written[name] for name in ("expected", "by_document_id", "of_run", "moved")} == {None}
    found = evaluate([[0]], [[1]], query_labels=[1], database_labels=[1])
    assert found.to_trec(tmp_path / "trec").depth == 1

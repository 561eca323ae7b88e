"""Runs against judgments: trec_eval without ties, every order of ties, codes as runs, and files."""

import itertools
import json

import numpy as np
import pytest
import pytrec_eval
from encoded import message_of, refusals, refuses, yaml_of

import protocol as hp
from protocol.cli import main

RUN = "q Q0 a 1 2.0 x\nq Q0 b 2 1.0 x\n"
MEASURES = yaml_of("evaluation/trec_eval.yaml")


def trec_eval(run, judgments):
    """The value of each measure for each judged query, 0 without results."""
    values = pytrec_eval.RelevanceEvaluator(judgments, {*MEASURES.values()}).evaluate(run)
    return {
        ours: np.array([values.get(query, {}).get(theirs, 0.0) for query in judgments])
        for ours, theirs in MEASURES.items()
    }


def drawn(seed, scores):
    """A run whose scores are drawn by a function, and graded judgments of some of its queries and of others."""
    rng, items = np.random.default_rng(seed), np.array([f"d{item}" for item in range(60)])
    run = {
        f"q{query}": dict(zip(rng.permutation(items)[:n].tolist(), scores(rng, n).tolist(), strict=True))
        for query, n in enumerate(rng.integers(1, 60, 9))
    }
    judgments = {
        f"q{query}": {item: int(rng.integers(-2, 4)) for item in rng.permutation(items)[:n].tolist()}
        for query, n in enumerate(rng.integers(1, 30, 9), start=2)
    }
    return run, judgments | {"q3": dict.fromkeys(judgments["q3"], 0)}


@pytest.mark.parametrize("seed", range(5))
def test_without_ties_the_values_are_those_of_trec_eval(seed, tmp_path):
    run, judgments = drawn(seed, lambda rng, n: rng.permutation(1000)[:n] / 8)
    expected = trec_eval(run, judgments)
    lines = [f"{query} Q0 {item} 0 {score} x\n" for query, scores in run.items() for item, score in scores.items()]
    (tmp_path / "run.txt").write_text("".join(lines))
    lines = [f"{query}\t{item}\t{level}\n" for query, judged in judgments.items() for item, level in judged.items()]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    of_files = hp.evaluate_run(tmp_path / "run.txt", tmp_path / "qrels.tsv", metrics=list(MEASURES))
    result = hp.evaluate_run(run, judgments, metrics=list(MEASURES))
    assert result.query_ids == tuple(judgments)
    for name, values in result.per_query.items():
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_array_equal(of_files.per_query[name], values)
    assert result.facts == of_files.facts
    assert result.facts["judged_queries_without_results"] == 2
    assert result.facts["pairs_with_tied_scores"] == 0


def orders(scores):
    """Each strict order of the items, as scores."""
    ties = [[item for item in scores if scores[item] == one] for one in sorted({*scores.values()}, reverse=True)]
    for parts in itertools.product(*map(itertools.permutations, ties)):
        yield {item: -float(rank) for rank, item in enumerate(itertools.chain(*parts))}


def test_ties_are_in_expectation_over_all_orders():
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0, "f": 1.0, "g": 1.0}}
    judgments = {"q": {"b": 3, "d": 0, "e": 1, "g": -1, "missed": 2, "also missed": 1}}
    result = hp.evaluate_run(run, judgments, metrics=[*MEASURES, "mAP[worst]", "mAP[best]"])
    values = [trec_eval({"q": order}, judgments) for order in orders(run["q"])]
    assert len(values) == 36
    for name in MEASURES:
        assert result.metrics[name] == pytest.approx(np.mean([value[name] for value in values]), abs=1e-12), name
    of_map = [value["mAP"].item() for value in values]
    ends = [result.metrics["mAP[worst]"], result.metrics["mAP[best]"]]
    assert ends == pytest.approx([min(of_map), max(of_map)], abs=1e-12)
    assert result.facts["pairs_with_tied_scores"] == 6


def test_items_that_were_not_retrieved_have_no_rank():
    """The relevant item a is second or third; b was not retrieved, nor was anything for q2."""
    run, judgments = {"q1": {"x": 3, "a": 2, "y": 2}}, {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    names = ["mAP", "MRR", "R@3", "R@9", "P@9", "mAP@9[min]", "mAP@9[retrieved]"]
    result = hp.evaluate_run(run, judgments, metrics=names)
    reciprocal = (1 / 2 + 1 / 3) / 2
    expected = [reciprocal / 2, reciprocal, 1 / 2, 1 / 2, 1 / 9, reciprocal / 2, reciprocal]
    assert [values.tolist() for values in result.per_query.values()] == [pytest.approx([one, 0]) for one in expected]
    alone = hp.evaluate_run(run, judgments, metrics="mAP")
    assert result.metrics["mAP"] == alone.metrics["mAP"], "whatever the cutoffs"


def test_the_run_of_codes_has_the_values_of_the_codes(tmp_path):
    rng = np.random.default_rng(0)
    codes, labels = rng.random((90, 5)) < 0.5, rng.random((90, 3)) < 0.4
    options = {"metrics": ["mAP", "mAP[best]", "mAP[worst]", "mAP@7[min]", "nDCG", "WAP", "ACG@5", "MRR", "mAP@R"]}
    sides = {"query_labels": labels[:10], "database_labels": labels[10:]}
    of_codes = hp.evaluate(codes[:10], codes[10:], **sides, **options)
    of_codes.to_trec(tmp_path)
    of_run = hp.evaluate_run(tmp_path / "run", tmp_path / "qrels", **options)
    for name, values in of_run.per_query.items():
        np.testing.assert_allclose(values, of_codes.per_query[name], rtol=0, atol=1e-12, err_msg=name)


def test_ids_that_never_meet_are_reported():
    result = hp.evaluate_run({"q": {"1": 1}, "r": {}}, {"q": {"a": 1}, "r": {"a": 1}}, metrics="mAP")
    assert "no result has a judgment" in str(result)
    assert result.facts["judged_queries_without_results"] == 1


@pytest.mark.parametrize(("change", "message"), refusals("evaluation/runs.yaml"))
def test_refusals(here, change, message):
    (here / "run.txt").write_text(change.pop("run", RUN))
    (here / "qrels.txt").write_text(change.pop("qrels", "q 0 a 1\n"))
    assert message_of(lambda: hp.evaluate_run("run.txt", "qrels.txt", **change)) == message


@pytest.mark.parametrize("run", [{"q": ["a"]}, {"q": {"a": "high"}}, {"q": {"a": float("nan")}}, 3])
def test_runs_in_memory_that_are_refused(run):
    refuses(r"^run: expected a file or {query: {item: number}}", hp.evaluate_run, run, {"q": {"a": 1}})


def test_the_command_prints_the_facts_and_writes_a_record_that_can_be_verified(here, capsys):
    run = f"{RUN}q Q0 c 3 1.0 x\nr Q0 a 1 1 x\nr Q0 b 2 2 x\ns Q0 a 1 1 x\n"
    (here / "run.txt").write_text(run)
    (here / "qrels.txt").write_text("q 0 b 1\nq 0 d 1\nq 0 a -1\nr 0 b 1\nt 0 b 0\n")
    command = ["evaluate", "--run", "run.txt", "--relevance", "qrels.txt", "--metrics"]
    command += ["mAP", "mAP[worst]", "mAP[best]", "R@5"]
    assert main([*command, "--json", "mine.json", "--per-query", "values.csv", "--name", "mine"]) == 0
    printed = capsys.readouterr().out
    lines = "\n".join(" ".join(line.split()) for line in printed.splitlines())
    assert "mAP 0.4028 0.3889 to 0.4167 all relevant items 1 as 0\n" in lines
    for fact in (
        "judged queries without results 1",
        "results of queries without judgments 1",
        "results without judgment 2",
    ):
        assert f"{fact}\n" in lines
    assert lines.endswith("judgments below level 0 1\npairs with tied scores 1")
    assert (here / "values.csv").read_text().splitlines()[1:] == [
        *("q,run,0.208333333,0.166666667,0.25,0.5", "r,run,1,1,1,1", "t,run,0,0,0,0")
    ]
    record = json.loads((here / "mine.json").read_text())
    assert (record["name"], record["inputs"]) == ("mine", {"run": "run.txt", "relevance": "qrels.txt"})
    capsys.readouterr()
    for command in (["compare", "mine.json", "mine.json"], ["verify", "mine.json"]):
        assert main(command) == 2
        assert "the scores of a run, which can't be compared or verified" in capsys.readouterr().err

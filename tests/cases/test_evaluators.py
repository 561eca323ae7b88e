"""The small inputs on which `protocol.explain` and `protocol.diagnose` once gave a wrong answer."""

import runpy

import numpy as np
import pytest
from encoded import yaml_of

from protocol.evaluation import Judgments
from protocol.evaluators import Way, diagnose, explain

INDEX = Way("mAP", (("ties", "index"),))
VALUES = yaml_of("cases/values.yaml")
MEASURES = [pytest.param(*row, marks=pytest.mark.case(case)) for case, *row in VALUES["measures"]]


@pytest.mark.parametrize(("score", "measure", "variants"), MEASURES)
def test_measures_that_are_reported_as_map_are_found(case, score, measure, variants):
    query, database, query_labels, labels = (np.load(f"{name}.npy") for name in ("q", "d", "ql", "dl"))
    found = explain(score, query, database, query_labels=query_labels, database_labels=labels)
    assert found.decisive == found.matches[:1] == [Way(measure, tuple(variants.items()))]
    assert str(found).startswith(f"{score} (12 bits): {measure}, ")


@pytest.mark.case("29-gain-of-ndcg")
@pytest.mark.parametrize(("score", "gain", "text"), VALUES["gains"])
def test_the_gain_of_ndcg_is_explained(case, score, gain, text):
    truth = Judgments("qrels.txt", "qid.txt", "did.txt")
    found = explain(score, np.load("q.npy"), np.load("d.npy"), truth=truth, measure="nDCG")
    assert found.matches == [INDEX.but("nDCG", gain=gain)]
    assert f"nDCG, ties in database order (a stable sort); {text}." in " ".join(str(found).split())


@pytest.mark.case("07-constant-or-nan-evaluator")
def test_constant_and_undefined_answers_are_described(case):
    module = runpy.run_path(str(case / "evaluators.py"))
    with np.errstate(all="ignore"):
        cutoffs = {"always_relevant": 50, "zero_over_zero": 10, "never_relevant": None}
        texts = [str(diagnose(module[name], codes="signs", cutoff=cutoff)) for name, cutoff in cutoffs.items()]
        always, ratio, never = (" ".join(text.split()) for text in texts)
    assert always.startswith("Always 1: every item counts as relevant? ")
    assert never.startswith("Always 0: no item counts as relevant? ")
    start = "Differs from mAP@10 (ties in database order (a stable sort); divided by the relevant items "
    assert ratio.startswith(start)
    assert "without a number as the answer (0/0 for a query without a relevant item among the top 10?)." in ratio


@pytest.mark.case("20-diagnose-denominator")
def test_the_smaller_of_k_and_the_relevant_items_is_told_from_all_of_them(case, capsys):
    ap_min = runpy.run_path(str(case / "evaluator.py"))["ap_min"]
    capsys.readouterr()  # the script prints its own diagnosis
    diagnosis = diagnose(lambda *sides: ap_min(*sides, K=50), cutoff=50)
    assert diagnosis.matches == [INDEX.but("mAP@50", denominator="min")]

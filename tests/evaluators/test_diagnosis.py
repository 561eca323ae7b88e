"""`protocol.diagnose`: evaluators that others wrote, and faults that were put into one, are named."""

import csv

import numpy as np
import pytest
from slow_evaluators import score

from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluators import VARIANTS, Way, diagnose, read_answers, write_cases

STANDARD = Way("mAP", ())
INDEX = STANDARD.but(ties="index")


def average_precisions(keys, query_labels, labels, *, kind="stable", cutoff=None):
    """Return the average precision of each query over the relevant items among the top K; NaN without any."""
    values = []
    for key, label in zip(keys, query_labels, strict=True):
        ranks = np.flatnonzero(labels[np.argsort(key, kind=kind)][:cutoff] == label) + 1
        values.append(np.mean(np.arange(1, ranks.size + 1) / ranks) if ranks.size else np.nan)
    return np.array(values)


def deephash(query, database, query_labels, labels, cutoff=None, kind=None):
    """As CalcTopMap of DeepHash-pytorch: an unstable sort, relevant items among the top K, 0 without any."""
    keys = 0.5 * (query.shape[1] - query @ database.T)
    return np.nan_to_num(average_precisions(keys, query_labels, labels, kind=kind, cutoff=cutoff)).mean()


def hashnet(query, database, query_labels, labels, cutoff=None):
    """As get_mAPs of HashNet, with a stable sort: queries without a hit are left out."""
    return np.nanmean(average_precisions(-query @ database.T, query_labels, labels, cutoff=cutoff))


def scikit_learn(query, database, query_labels, labels):
    from sklearn.metrics import average_precision_score

    relevant = query_labels[:, None] == labels
    scores = query @ database.T
    values = [average_precision_score(*pair) if pair[0].any() else 0 for pair in zip(relevant, scores, strict=True)]
    return np.mean(values)


def trec_eval(query, database, query_labels, labels):
    """As trec_eval, with ids that descend with the row, because it orders ties by descending id."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    ids = [f"{len(labels) - row:06d}" for row in range(len(labels))]
    run = {f"{row}": dict(zip(ids, map(float, scores), strict=True)) for row, scores in enumerate(query @ database.T)}
    judged = {
        f"{row}": dict(zip(ids, (labels == label).astype(int).tolist(), strict=True))
        for row, label in enumerate(query_labels)
    }
    results = pytrec_eval.RelevanceEvaluator(judged, {"map"}).evaluate(run)
    return np.mean([result["map"] for result in results.values()])


def torchmetrics_map(query, database, query_labels, labels, **options):
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")
    import torch
    from torchmetrics.retrieval import RetrievalMAP

    scores = torch.from_numpy(query @ database.T)
    rows = torch.arange(len(query))[:, None].expand(scores.shape)
    relevant = torch.from_numpy(query_labels[:, None] == labels)
    return float(RetrievalMAP(**options)(scores.flatten(), relevant.flatten(), indexes=rows.flatten()))


def ranx_map(query, database, query_labels, labels):
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    ids = [f"{row:06d}" for row in range(len(labels))]
    run = {f"{row}": dict(zip(ids, map(float, scores), strict=True)) for row, scores in enumerate(query @ database.T)}
    judged = {
        f"{row}": {ids[item]: 1 for item in np.flatnonzero(labels == label)} or {"none": 1}
        for row, label in enumerate(query_labels)
    }
    return float(ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), "map"))


def metric_learning(query, database, query_labels, labels, metric="mean_average_precision"):
    pytest.importorskip("pytorch_metric_learning", reason="pytorch-metric-learning is not installed")
    import torch
    from pytorch_metric_learning.distances import LpDistance
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN

    neighbours = CustomKNN(LpDistance(normalize_embeddings=False))
    calculator = AccuracyCalculator((metric,), device=torch.device("cpu"), knn_func=neighbours)
    sides = (torch.from_numpy(side) for side in (query, query_labels, database, labels))
    return calculator.get_accuracy(*sides)[metric]


def eight_bits(query, database, query_labels, labels):
    query, database = query.astype(np.int8), database.astype(np.int8)
    keys = (np.int8(query.shape[1]) - query @ database.T).astype(np.int8)
    return np.nan_to_num(average_precisions(keys, query_labels, labels)).mean()


@pytest.mark.parametrize(
    ("evaluator", "options", "found"),
    [
        (deephash, {}, STANDARD.but(ties="random")),
        (lambda *sides: deephash(*sides, kind="stable"), {}, INDEX),
        (lambda *sides: deephash(*sides, cutoff=-1, kind="stable"), {}, ("without-last", "retrieved")),
        (
            lambda *sides: deephash(*sides, cutoff=50, kind="stable"),
            {"cutoff": 50},
            Way("mAP@50", (("ties", "index"), ("denominator", "retrieved"))),
        ),
        (
            lambda *sides: deephash(*sides, cutoff=100),
            {"cutoff": 100},
            Way("mAP@100", (("ties", "random"), ("denominator", "retrieved"))),
        ),
        (hashnet, {}, INDEX.but(undefined="left-out")),
        (scikit_learn, {}, STANDARD.but(ties="grouped")),
        (trec_eval, {}, INDEX),
        (torchmetrics_map, {}, STANDARD.but(list="positive", ties="random")),
        (
            lambda *sides: torchmetrics_map(*sides, top_k=10),
            {"cutoff": 10},
            ("positive", "retrieved"),
        ),
        (ranx_map, {}, STANDARD.but(ties="random")),
        (metric_learning, {}, STANDARD.but(ties="random", undefined="left-out")),
        (
            lambda *sides: metric_learning(*sides, metric="mean_average_precision_at_r"),
            {},
            Way("mAP@R", (("ties", "random"), ("undefined", "left-out"))),
        ),
        (eight_bits, {}, STANDARD.but(distance="int8", ties="index")),
    ],
    ids=str.split(
        "deephash stable minus-one top-50 top-100 hashnet sklearn trec_eval torchmetrics torchmetrics-10 ranx "
        "metric-learning metric-learning-at-r int8"
    ),
)
def test_evaluators_of_others_are_named(evaluator, options, found):
    diagnosis = diagnose(evaluator, codes="signs", **options)
    best = diagnosis.matches[0]
    if isinstance(found, Way):
        assert (best.measure, set(best.variants)) == (found.measure, set(found.variants))
    else:
        assert {name for _, name in best.variants} > set(found)
    assert str(diagnosis).startswith(f"Equal to {best.measure}: ")


UNORDERED = {"random", "best", "worst", "grouped"}
NEED_MORE = {"inner-product", "asymmetric", "half", "zero-is-1", "training"}  # real values or other labels
SEEDED = [
    (family, name)
    for family, name in VARIANTS
    if family != "relevance"  # the cases have one label per item
    and name not in {*UNORDERED, *NEED_MORE}
]


@pytest.mark.parametrize("variant", SEEDED, ids="-".join)
def test_every_seeded_fault_is_named(variant):
    family, name = variant
    measure = "mAP@5" if family == "denominator" or name == "by-hits" else "mAP"
    way = Way(measure, (variant,) if family == "ties" else (("ties", "index"), variant))
    if family == "mean" and name == "classes":
        way = None

    def evaluator(query, database, query_labels, labels):
        if way is None:
            values = np.nan_to_num(average_precisions((query[:, None] != database).sum(axis=2), query_labels, labels))
            return np.mean([values[query_labels == label].mean() for label in np.unique(query_labels)])
        return score(way, query.tolist(), database.tolist(), lambda q, d: query_labels[q] == labels[d])

    best = diagnose(evaluator).matches[0]
    expected = {("ties", "index"), variant} if family != "ties" else {variant}
    assert (best.measure, set(best.variants)) == (measure, expected)


def test_our_own_evaluation_is_the_standard():
    from protocol import evaluate

    def own(query, database, query_labels, labels):
        result = evaluate(query, database, query_labels=query_labels, database_labels=labels, metrics=["mAP"])
        return result.metrics["mAP"]

    assert diagnose(own).matches == [STANDARD]


def test_an_unknown_evaluator_differs_in_a_case_that_is_named():
    def halved_for_long_codes(query, *sides):
        return deephash(query, *sides, kind="stable") * (0.5 if query.shape[1] > 16 and len(query) > 5 else 1)

    diagnosis = diagnose(halved_for_long_codes, codes="signs")
    assert not diagnosis.matches
    nearest = "The nearest, mAP (ties in database order (a stable sort)), first differs in case 8 (opposite codes"
    assert nearest in " ".join(str(diagnosis).split())
    assert diagnosis.content()["nearest"]["first_difference"] == 8


def test_errors_of_the_function_are_shown_as_its_answers():
    diagnosis = diagnose(lambda *_: 1 / 0)
    assert not diagnosis.matches
    assert "ZeroDivisionError: division by zero" in str(diagnosis)
    assert "no case was answered" in str(diagnosis)
    assert diagnose(lambda *_: "a" + 1).answers[1].startswith("TypeError: ")


def test_a_function_without_a_number_is_refused():
    with pytest.raises(ProtocolError, match="The function must return a number for "):
        diagnose(lambda *_: None)
    with pytest.raises(ProtocolError, match="The function must return a number for "):
        diagnose(lambda *_: "high")
    with pytest.raises(ProtocolError, match="codes must be bits or signs"):
        diagnose(hashnet, codes="-1/+1")


def test_nan_counts_as_no_answer():
    def nan_if_undefined(*sides):
        values = average_precisions(-sides[0] @ sides[1].T, *sides[2:])
        return values.mean()

    diagnosis = diagnose(nan_if_undefined, codes="signs")
    assert INDEX in diagnosis.matches
    assert "1 case without a number as the answer." in str(diagnosis)


def test_the_answers_of_another_program_are_read(tmp_path, capsys):
    folder = tmp_path / "cases"
    assert main(["diagnose", "--write", str(folder)]) == 0
    answers = folder / "answers.csv"
    rows = list(csv.DictReader(answers.read_text().splitlines()))
    for row in rows:
        names = ("query_codes", "database_codes", "query_labels", "database_labels")
        sides = [np.loadtxt(folder / f"{int(row['case']):02d}" / f"{name}.csv", delimiter=",") for name in names]
        row["score"] = f"{hashnet(2 * sides[0] - 1, 2 * sides[1] - 1, *sides[2:]):.8f}"
    with answers.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert main(["diagnose", "--read", str(answers), "--json", str(tmp_path / "found.json")]) == 0
    assert capsys.readouterr().out.startswith("Equal to mAP: ties in database order (a stable sort); queries without")
    assert read_answers(answers).matches[0] == INDEX.but(undefined="left-out")
    assert main(["diagnose", "--write", str(folder)]) == 2
    assert "its answers would be lost" in capsys.readouterr().err


def test_a_missing_answer_is_named(tmp_path):
    write_cases(tmp_path)
    with pytest.raises(ProtocolError, match=r"answers.csv: case 1: the score must be a number, got ''"):
        read_answers(tmp_path / "answers.csv")

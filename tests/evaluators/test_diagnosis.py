"""`protocol.diagnose`: evaluators that others wrote, and faults that were put into one, are named."""

import csv
import itertools
from collections import Counter
from functools import partial

import numpy as np
import pytest
from encoded import refuses
from scipy.spatial import cKDTree
from slow_evaluators import score

from protocol.cli import main
from protocol.evaluators import VARIANTS, Way, diagnose, read_answers
from protocol.evaluators.diagnosis import _known

STANDARD = Way("mAP", ())
INDEX = STANDARD.but(ties="index")


def average_precisions(keys, query_labels, labels, *, kind="stable", cutoff=None):
    """Return the average precision of each query over the relevant items among the top K; NaN without any."""
    values = []
    for key, label in zip(keys, query_labels, strict=True):
        ranks = np.flatnonzero(labels[np.argsort(key, kind=kind)][:cutoff] == label) + 1
        values.append(np.mean(np.arange(1, ranks.size + 1) / ranks) if ranks.size else np.nan)
    return np.array(values)


def n_relevant(query_labels, database_labels):
    return (query_labels[:, None] == database_labels).sum(axis=1)


def precisions_of(query, database, *labels, cutoff=None):
    return np.nan_to_num(average_precisions(-query @ database.T, *labels, cutoff=cutoff))


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


def of_products(multiply, query, database, query_labels, labels):
    """As CalcTopMap of DeepHash-pytorch, with a stable sort: relevant items have a label in common, one-hot ones."""
    related = [multiply(label, labels.T) > 0 for label in query_labels]
    keys = [[key] for key in -query @ database.T]
    return np.mean([*map(np.nan_to_num, map(average_precisions, keys, itertools.repeat([True]), related))])


def of_top(cutoff, denominator, *, kind=None, is_dropping=False):
    """As CalcTopMap of DeepHash-pytorch with the K of `cutoff`; its fork skips queries without a hit."""

    def evaluator(query, database, query_labels, labels):
        values = []
        for key, label in zip(0.5 * (query.shape[1] - query @ database.T), query_labels, strict=True):
            hits, n = np.flatnonzero(labels[np.argsort(key, kind=kind)][:cutoff] == label), (labels == label).sum()
            total = {"retrieved": hits.size, "min": min(n, cutoff), "": n, "K": cutoff}[denominator]
            if hits.size or not is_dropping:
                values.append((np.arange(1, hits.size + 1) / (hits + 1)).sum() / max(total, 1))
        return np.mean(values)

    return evaluator


def top(cutoff, denominator, ties="random", undefined=""):
    return STANDARD.but(f"mAP@{cutoff}", ties=ties, denominator=denominator, undefined=undefined)


AT_50 = {"cutoff": 50}
OTHERS = {
    "deephash": (deephash, {}, STANDARD.but(ties="random")),
    **{
        f"unstable-{cutoff}-{denominator}": (of_top(cutoff, denominator), {"cutoff": cutoff}, top(cutoff, denominator))
        for cutoff, denominator in [(10, "retrieved"), (50, "retrieved"), (50, ""), (50, "K")]
    },
    "skipping-all": (of_top(50, "", kind="stable", is_dropping=True), AT_50, top(50, "", "index", "without-hit")),
    "skipping-unstable": (of_top(50, "min", is_dropping=True), AT_50, top(50, "min", undefined="without-hit")),
    "K=-1": (partial(deephash, cutoff=-1, kind="stable"), {}, INDEX.but(list="without-last", denominator="retrieved")),
    "top-50": (partial(deephash, cutoff=50, kind="stable"), AT_50, INDEX.but("mAP@50", denominator="retrieved")),
    "hashnet": (hashnet, {}, INDEX.but(undefined="left-out")),
    "sklearn": (scikit_learn, {}, STANDARD.but(ties="grouped")),
}


def same(ways):
    return {(way.measure, frozenset(way.variants)) for way in ways}


def rounded(evaluator, decimals):
    """Return an evaluator whose answers are rounded, unless to -1 decimals."""
    return evaluator if decimals < 0 else lambda *sides: round(float(evaluator(*sides)), decimals)


@pytest.mark.parametrize("decimals", [-1, 6, 4, 3, 2])
@pytest.mark.parametrize("name", OTHERS)
def test_evaluators_of_others_are_named(name, decimals):
    evaluator, options, expected = OTHERS[name]
    diagnosis = diagnose(rounded(evaluator, decimals), codes="signs", **options)
    assert same(diagnosis.matches[:1]) == same([expected])
    is_random, text = ("ties", "random") in expected.variants, " ".join(str(diagnosis).split())
    is_equal = not is_random and decimals not in (2, 3)
    assert text.startswith(f"{'Equal to' if is_equal else 'Consistent with'} {expected.measure}: ")
    assert ("1e-08 if they were independent; they are not, so another" in text) == is_random
    is_whole = "cutoff" not in options and "@" not in expected.measure
    assert ("at most 60 items, so a cutoff of 60 or more, and its denominator, can't be seen" in text) == is_whole
    assert (f"have {decimals} decimals, so evaluations that agree to them can't" in text) == (decimals in (2, 3, 4))


@pytest.mark.parametrize(
    ("multiply", "reason"), [(np.matmul, "ValueError: matmul: "), (np.dot, "no known evaluation gives the answers.")]
)
def test_a_function_that_needs_one_hot_labels_is_given_them(multiply, reason):
    diagnosis = diagnose(partial(of_products, multiply), codes="signs")
    assert diagnosis.matches == [INDEX]
    given = f"The function was given one-hot labels, (n, n_classes). With class labels: {reason}"
    assert diagnosis.verdict[-1].startswith(given)
    assert "one-hot" not in str(diagnose(hashnet, codes="signs"))


def slow(way):
    """Return the evaluator that computes a way in plain Python."""

    def evaluator(query, database, query_labels, labels):
        sides = [side.tolist() for side in (query, database, query_labels, labels)]
        return score(way, *sides[:2], lambda q, d: sides[2][q] == sides[3][d])

    return evaluator


def mean_of_classes(query, database, query_labels, labels):
    values = np.nan_to_num(average_precisions((query[:, None] != database).sum(axis=2), query_labels, labels))
    return np.mean([values[query_labels == label].mean() for label in np.unique(query_labels)])


UNORDERED = {"random", "best", "worst", "grouped"}
NEED_MORE = {"inner-product", "asymmetric", "half", "zero-is-1"}  # real values or other labels
SEEDED = [
    (STANDARD if variant[0] == "ties" else INDEX).but(
        ("mAP@r2" if variant[1] == "all" else "mAP@5")
        if variant[0] == "denominator" or variant[1] in ("by-hits", "without-hit")
        else "mAP",
        **dict([variant]),
    )
    for variant in VARIANTS
    if variant[0] not in ("relevance", "gain", "database")  # the cases have one label per item, and other queries
    and variant[1] not in {*UNORDERED, *NEED_MORE}
]
IN_ORDER = ("MRR", "R-precision", "mAP@R", "mAP@r2", "hit@10", "nDCG@10")
REPORTED_AS_MAP = [
    *(Way(f"AUPRC[{rule}]", ()) for rule in ("area", "trapezoid", "sum", "area,macro")),
    *(INDEX.but(measure) for measure in (*IN_ORDER, "P@10")),
    *(INDEX.but(measure, undefined="left-out") for measure in ("MRR", "R-precision", "mAP@R")),
    *(STANDARD.but(measure, ties=ties) for measure, ties in itertools.product(IN_ORDER, ("best", "worst"))),
    *(INDEX.but("mAP@10", denominator=name) for name in ("", "retrieved", "min", "K")),
    INDEX.but("mAP@50", denominator="min"),
]


@pytest.mark.parametrize("way", [*SEEDED, *REPORTED_AS_MAP], ids=lambda way: f"{way.measure}, {way.names}")
def test_every_measure_and_every_seeded_fault_is_named(way):
    diagnosis = diagnose(mean_of_classes if ("mean", "classes") in way.variants else slow(way))
    assert same(diagnosis.matches[:1]) == same([way])


def test_evaluations_that_no_case_tells_apart_are_listed():
    diagnosis = diagnose(slow(INDEX.but("P@1")))  # nDCG@1 and mAP@1, divided by 1, are the same by definition
    expected = [INDEX.but(name) for name in ("P@1", "nDCG@1", "hit@1")] + [INDEX.but("mAP@1", denominator="min")]
    assert same(expected) <= same(diagnosis.matches)
    text = " ".join(str(diagnosis).split())
    assert "Equal to P@1: ties in database order (a stable sort). These cases can't tell it from: nDCG@1, ties" in text


def test_the_cases_tell_all_evaluations_apart_that_are_not_the_same_by_definition():
    """Other distances than the plain ones are told apart for complete lists; here are the measures and denominators."""
    known = _known(50)
    ways = {
        way: means.round(7).tobytes()
        for way, means in zip(known.ways, known.means, strict=True)
        if way.measure in ("mAP", "nDCG", "mAP@R", "MRR", "R-precision")
        or way.measure in (f"{name}@{cutoff}" for name in ("mAP", "nDCG", "P", "R") for cutoff in (5, 10, 20, 50))
    }
    # The relevant items are at most as many as there are items without the last, unless all of them are relevant.
    same_by_definition = {("list", "without-last"), ("precision", "by-hits"), ("ties", "random")}
    ways = {way: means for way, means in ways.items() if same_by_definition.isdisjoint(way.variants)}
    query = (("list", "with-query"), ("ties", "index"))
    del ways[Way("MRR", query)], ways[Way("MRR", (*query, ("mean", "classes")))]  # 1
    equal = Counter(ways.values())
    assert len(ways) > 3000
    assert not [way for way, means in ways.items() if equal[means] > 1]


@pytest.mark.parametrize(("k", "is_mean"), [(10, True), (20, True), (20, False), (100, True), (100, False)])
def test_a_precision_of_the_top_may_divide_by_fewer_items_than_k(k, is_mean):
    def precision(query, database, query_labels, database_labels):
        orders = np.argsort(-(query @ database.T), axis=1, kind="stable")[:, :k]
        hits = database_labels[orders] == query_labels[:, None]
        return hits.mean() if is_mean else hits.sum() / k / len(hits)

    way = Way(f"P@{k}", ()).but(ties="index", denominator="" if is_mean else "K")
    assert diagnose(precision, codes="signs", cutoff=k).matches == [way]


@pytest.mark.parametrize(("decimals", "share"), [(1, 0.692), (2, 0.189), (3, 0.029), (4, 0.002)])
def test_few_known_evaluations_agree_with_another_to_four_decimals(decimals, share):
    known = _known(None)
    means = np.unique(known.means[~known.deviations.any(axis=1) & ~np.isnan(known.means).any(axis=1)].round(7), axis=0)
    within = {"r": 0.5 * 10.0**-decimals + 1e-6, "p": np.inf}
    n_agreeing = cKDTree(means).query_ball_point(means.round(decimals), **within, return_length=True)
    assert (n_agreeing > 1).mean() == pytest.approx(share, abs=5e-4)


UNKNOWN = "Unknown: no known evaluation reproduces all answers up to case "
RAISED = "Unknown: the function raised an error in every case:"


@pytest.mark.parametrize(
    ("evaluator", "text"),
    [
        (lambda query, database: 1, f"{RAISED} TypeError: <lambda>() takes 2"),
        (lambda *_: float("nan"), "Unknown: no case was answered with a number."),
        (
            rounded(hashnet, 1),
            "Unknown: the answers have 1 decimal, with which many evaluations agree. Print 4 or more.",
        ),
        (lambda *sides: 100 * hashnet(*sides), "Not a score from 0 to 1: 66.9651 in case 10 (queries that are "),
        (lambda *sides: np.nanmedian(average_precisions(-sides[0] @ sides[1].T, *sides[2:])), UNKNOWN),
        (lambda *sides: 1 - abs(sides[0]).mean() / 3 + sides[2].mean() / 1000, UNKNOWN),
        (lambda *sides: np.average(precisions_of(*sides), weights=n_relevant(*sides[2:])), UNKNOWN),
        (lambda *sides: np.sort(precisions_of(*sides))[len(sides[0]) // 4 :].mean(), UNKNOWN),
        (lambda *sides: np.sqrt(precisions_of(*sides, cutoff=50)).mean(), UNKNOWN),
        (lambda *sides: 0.5 + 0.5 * precisions_of(*sides).mean(), UNKNOWN),
    ],
)
def test_answers_that_no_evaluation_gives_are_described(evaluator, text):
    for decimals in [-1, 4, 3, 2] if text == UNKNOWN else [-1]:
        diagnosis = diagnose(rounded(evaluator, decimals), codes="signs")
        assert not diagnosis.matches
        assert diagnosis.nearest is None
        assert " ".join(str(diagnosis).split()).startswith(text)
        assert str(diagnosis).count("TypeError") <= 1


def test_an_unknown_evaluator_may_expect_the_other_codes():
    assert 'Pass codes="signs" if it expects -1 and +1.' in " ".join(str(diagnose(hashnet)).split())
    bits = diagnose(lambda query, *sides: hashnet(2.0 * query - 1, 2.0 * sides[0] - 1, *sides[1:]), codes="signs")
    assert 'Pass codes="bits" if it expects 0 and 1.' in " ".join(str(bits).split())


def test_an_unknown_evaluator_differs_in_a_case_that_is_named():
    def halved_for_long_codes(query, *sides):
        return deephash(query, *sides, kind="stable") * (0.5 if query.shape[1] > 16 and len(query) > 5 else 1)

    diagnosis = diagnose(halved_for_long_codes, codes="signs")
    assert not diagnosis.matches
    nearest = "mAP (ties in database order (a stable sort)) gives 9 of 10 answers"
    assert f"{nearest}, and first differs in case 8 (opposite" in " ".join(str(diagnosis).split())
    assert diagnosis.content()["nearest"]["differing_cases"] == [8]


@pytest.mark.parametrize(("codes", "message"), [("bits", "must return a number for "), ("-1", "bits or signs")])
def test_refusals(codes, message):
    refuses(message, diagnose, lambda *_: None, codes=codes)


@pytest.mark.parametrize("digits", [".8f", ".4f", ".4g", ".2%", "percent"])
def test_the_answers_of_another_program_are_read(tmp_path, capsys, digits):
    folder = tmp_path / "cases"
    assert main(["diagnose", "--write", str(folder)]) == 0
    answers = folder / "answers.csv"
    rows = list(csv.DictReader(answers.read_text().splitlines()))
    for row in rows:
        names = ("query_codes", "database_codes", "query_labels", "database_labels")
        sides = [np.loadtxt(folder / f"{int(row['case']):02d}" / f"{name}.csv", delimiter=",") for name in names]
        score = hashnet(2 * sides[0] - 1, 2 * sides[1] - 1, *sides[2:])
        row["score"] = f"{100 * score:.2f}".replace(".", ",") if digits == "percent" else f"{score:{digits}}"
    with answers.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";" if digits == "percent" else ",")
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert main(["diagnose", "--read", str(answers), "--json", str(tmp_path / "found.json")]) == 0
    text, said = capsys.readouterr()
    assert said.count("answers.csv: the scores are read as percent, because") == ("%" in digits or digits == "percent")
    assert text.startswith("Equal to mAP: ties in database order (a stable sort); queries whose")
    assert ("The answers have 4 decimals" in text) == (digits != ".8f")
    assert read_answers(answers).matches[0] == INDEX.but(undefined="left-out")

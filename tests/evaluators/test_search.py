"""`protocol.explain`: every score that it tries, and what it says of scores that it can or can't explain."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from page_blocks import blocks
from slow_evaluators import score

from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.evaluation import Codes, evaluate
from protocol.evaluators import VARIANTS, Explanation, Way, explain
from protocol.evaluators.search import Reported

STANDARD = Way("mAP", ())
INDEX = STANDARD.but(ties="index")
ASKED = "`protocol diagnose` asks the program."


def case(seed, n_bits=3, n_queries=3, n_items=6, n_classes=3):
    rng = np.random.default_rng(seed)
    query, database = rng.integers(0, 2, (n_queries, n_bits)), rng.integers(0, 2, (n_items, n_bits))
    return query, database, rng.integers(0, n_classes, n_queries), rng.integers(0, n_classes, n_items)


def larger():
    """Return codes and labels with which an order of ties changes means by little."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (50, 12)), rng.integers(0, 2, (400, 12)), rng.integers(0, 5, 50), rng.integers(0, 5, 400)


def explained(reported, query, database, query_labels, labels, measure="any"):
    return explain(reported, query, database, query_labels=query_labels, database_labels=labels, measure=measure)


def check_every_way(found, query, database, related):
    for way, ((value, _),) in found.values.items():
        if ("mean", "classes") not in way.variants:
            expected = score(way, query.tolist(), database.tolist(), related)
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), way


def test_every_score_is_that_of_plain_python():
    query, database, query_labels, labels = case(3)
    labels[0] = query_labels[0]
    found = explained("0.12345678", query, database, query_labels, labels)
    assert len(found.values) > 100
    check_every_way(found, query, database, lambda q, d: query_labels[q] == labels[d])


@pytest.mark.parametrize("n_bits", [16, 66])
def test_distances_of_several_bytes_are_those_of_plain_python(n_bits):
    rng = np.random.default_rng(n_bits)
    query = rng.integers(0, 2, (3, n_bits))
    database = np.concatenate([query, 1 - query])
    database[3:, 8:12] = query[:, 8:12]  # some bytes differ in all bits, some in a few, some in none
    labels = np.array([0, 1, 0, 1, 0, 1])
    found = explained("0.12345678", query, database, [0, 1, 2], labels)
    assert {dict(way.variants).get("distance") for way in found.values} >= {None, "saturating", "bytes"}
    assert any(("distance", "int8") in way.variants for way in found.values) == (n_bits >= 64)
    check_every_way(found, query, database, lambda q, d: [0, 1, 2][q] == labels[d])


def test_several_labels_are_compared_in_three_ways():
    query, database, *_ = case(1)
    query_labels = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])
    labels = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 1, 0]])
    found = explained("0.12345678", query, database, query_labels, labels)
    values, sides = found.values, (query.tolist(), database.tolist())
    rules = {
        STANDARD: lambda q, d: bool((query_labels[q] & labels[d]).any()),
        STANDARD.but(relevance="same-set"): lambda q, d: bool((query_labels[q] == labels[d]).all()),
        STANDARD.but(relevance="first-label"): lambda q, d: query_labels[q].argmax() == labels[d].argmax(),
    }
    for way, related in rules.items():
        (way,) = [known for known in values if set(known.variants) == set(way.variants) and known.measure == "mAP"]
        assert values[way][0, 0] == pytest.approx(score(way, *sides, related), abs=1e-12)
    graded = {
        way: each for way, each in values.items() if way.family == "nDCG" and "relevance" not in dict(way.variants)
    }
    assert {dict(way.variants)["gain"] for way in graded} == {"exponential", "linear"}
    check_every_way(replace(found, values=graded), query, database, lambda q, d: (query_labels[q] & labels[d]).sum())


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("nDCG@10[linear]", Way("nDCG@10", (("gain", "linear"),))),
        ("nDCG@10", Way("nDCG@10", (("gain", "exponential"),))),
        *((f"{name}[best]", Way(name, (("ties", "best"),))) for name in ("MRR", "R-precision", "mAP@R", "hit@5")),
        *((f"{name}[worst]", Way(name, (("ties", "worst"),))) for name in ("R-precision", "mAP@R", "mAP@r2")),
    ],
)
def test_metrics_are_explained_by_their_gain_and_their_order_of_ties(name, way):
    rng = np.random.default_rng(4)
    sides = rng.integers(0, 2, (40, 8)), rng.integers(0, 2, (90, 8))
    labels = {"query_labels": rng.random((40, 5)) < 0.3, "database_labels": rng.random((90, 5)) < 0.3}
    value = evaluate(*sides, **labels, metrics=[name]).metrics[name]
    found = explain(f"{value:.8f}", *sides, **labels, measure="any")
    assert found.matches[0] == way
    assert (STANDARD.but(way.measure) in found.values) == (way.family != "nDCG")


def test_classes_of_unequal_size_can_have_equal_weight():
    query, database = [[0, 0], [0, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]
    values = explained("0.9", query, database, [0, 0, 1], [0, 0, 1]).values
    first, last = (1 + 2 / 3) / 2, 1 / 2  # the items are in the order 0, 2, 1 and 1, 2, 0
    assert values[STANDARD][0, 0] == pytest.approx((2 * first + last) / 3)
    assert values[STANDARD.but(mean="classes")][0, 0] == pytest.approx((first + last) / 2)


def test_a_random_order_of_ties_has_a_standard_deviation():
    rng = np.random.default_rng(0)
    query = np.concatenate([rng.permuted([[0, 1] * 10] * 900, axis=1), np.zeros((900, 2))], axis=1)
    database = np.concatenate([np.full((2, 20), 0), np.eye(2)], axis=1)  # both items are at distance 11
    found = explained("0.76", query, database, np.zeros(900), [0, 1], "mAP")
    mean, deviation = found.values[STANDARD.but(ties="random")][0]
    assert mean == pytest.approx(0.75)  # 1 or 1/2 for each query
    assert deviation == pytest.approx(0.25, rel=0.01)  # a sort moves the same two items for all queries
    opposite = explained("0.76", query, database, np.arange(900) % 2, [0, 1], "mAP")
    mean, deviation = opposite.values[STANDARD.but(ties="random")][0]
    assert deviation == pytest.approx(0.25 / 30, rel=0.01)  # with one order, a query has 1 and another has 1/2
    assert STANDARD.but(ties="random") in opposite.matches  # .76 is within two standard deviations
    assert STANDARD.but(ties="random") not in replace(opposite, reported=(Reported.parse("0.80"),)).matches


@pytest.mark.parametrize(("n_classes", "expected"), [(1, 0.25), (2, 0.25 / 2**0.5)])
def test_queries_with_equal_codes_have_the_same_random_order(n_classes, expected):
    query, labels = np.repeat([[0, 0], [1, 1]], 200, axis=0), np.repeat([0, n_classes - 1], 200)
    found = explained("0.76", query, np.eye(2), labels, [0, 1]).values[STANDARD.but(ties="random")]
    assert found[0] == pytest.approx([0.75, expected])  # all queries with the same code are 1, or all are 1/2


def test_the_order_of_a_real_sort_is_within_the_deviation():
    query, database, query_labels, labels = larger()
    found = explained("0.5", query, database, query_labels, labels, measure="mAP")
    sampled, name = [], "mAP[database-order]"
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(400)
        both = {"query_labels": query_labels, "database_labels": labels[order]}
        sampled.append(evaluate(query, database[order], **both, metrics=[name]).metrics[name])
    mean, deviation = found.values[STANDARD.but(ties="random")][0]
    assert deviation == pytest.approx(np.std(sampled), rel=0.3)
    assert mean == pytest.approx(np.mean(sampled), abs=deviation / 2)


@pytest.mark.parametrize("metric", ["mAP[database-order]", "mAP", "P@5", "AUPRC[area]"])
def test_queries_that_are_the_database_leave_their_own_row_out(metric):
    _, codes, _, labels = larger()
    options = {"query_labels": labels, "database_labels": labels}
    scores = evaluate(codes, codes, **options, metrics=[metric], leave_one_out=True).metrics
    found = explain(f"{scores[metric]:.8f}", codes, codes, **options, measure="any")
    assert found.decisive[0].variants[0] == ("database", "without-own")
    assert "the own row of each query was also left out" in " ".join(str(found).split())


@pytest.mark.parametrize("reported", ["0.5833", "0.583", "0.5834", "58.33", "0.6", "58,33", "0,5833", "58.33 %"])
def test_scores_are_rounded_or_cut_and_may_be_in_percent(reported):
    sides = [[0, 0]], [[0, 0], [0, 1], [1, 1]], [0], [1, 0, 0]  # ranks 2 and 3: (1/2 + 2/3) / 2 = .58333...
    expected = reported != "0.5834"
    assert (STANDARD in explained(reported, *sides).matches) == expected
    perfect = explained("1.0000", [[0, 0]], [[0, 0], [1, 1]], [0], [0, 1])
    assert STANDARD in perfect.matches
    assert STANDARD not in replace(perfect, reported=(Reported.parse("0.9999"),)).matches  # neither rounded nor cut


def test_nothing_explains_an_impossible_score():
    found = explained("0.987654", *larger(), measure="precision")
    assert not found.matches
    assert str(found).startswith("Nothing known gives 0.987654 (12 bits)")
    found = explained("0.987654", *larger())
    assert found.matches
    assert not found.decisive
    coincidence = "with 0.987654 (12 bits), rounded or cut, but perhaps by coincidence: more digits or scores of more "
    assert len(found.matches) == 1
    assert " ".join(str(found).split()).startswith(f"1 evaluation agrees {coincidence}code lengths would decide.")


def test_the_chance_is_that_of_values_spread_evenly():
    def chance(measure, values, score="0.5000"):
        ways = {way: np.array([pair]) for way, pair in values.items()}
        return Explanation((Reported.parse(score),), (8,), ways).chance(measure)

    index, random = STANDARD.but(ties="index"), STANDARD.but(ties="random")
    one = 0.00015 / 0.02  # 1.5 units of the last digit, in values within .01
    assert chance(STANDARD, {STANDARD: (0.5, 0)}) == pytest.approx(1 - (1 - one) ** 2)
    assert chance(STANDARD, {STANDARD: (0.5, 0), index: (0.501, 0)}) == pytest.approx(1 - (1 - one) ** 2)
    assert chance(index, {STANDARD: (0.5, 0), index: (0.501, 0)}) == pytest.approx(1 - (1 - one) ** 4)
    assert chance(index, {STANDARD: (0.5, 0), index: (0.52, 0)}) == pytest.approx(1 - (1 - one) ** 2)
    assert chance(index, {STANDARD: (0.5, 0), index: (0.5, 0)}) == pytest.approx(1 - (1 - one) ** 2)  # equal values
    wide = (0.00015 + 6 * 0.001) / 0.02
    assert chance(random, {index: (0.5, 0), random: (0.502, 0.001)}) == pytest.approx(1 - ((1 - one) * (1 - wide)) ** 2)
    by_random = 0.00015 / (np.sqrt(2 * np.pi) * 0.001)  # an unstable sort is as plausible
    assert chance(index, {index: (0.5, 0), random: (0.502, 0.001)}) == pytest.approx(by_random)
    assert chance(index, {index: (0.5, 0), random: (0.504, 0.001)}) == pytest.approx(1 - (1 - one) ** 2)


def test_random_numbers_are_not_explained_and_computed_ones_are():
    rng = np.random.default_rng(0)
    found = explained("0.12345678", *larger(), measure="mAP")
    numbers = [f"{number:.{digits}f}" for digits in (3, 4, 6) for number in rng.uniform(0.05, 0.9, 40)]
    decisive = [replace(found, reported=(Reported.parse(number),)).decisive for number in numbers]
    assert sum(map(bool, decisive)) <= 0.05 * len(numbers)
    assert not any(decisive[:40])  # three digits never suffice
    for way in (STANDARD, STANDARD.but(ties="index"), Way("AUPRC[area]", ()), STANDARD.but("MRR", ties="index")):
        reported = (Reported.parse(f"{found.values[way][0, 0]:.7f}"),)
        assert way in replace(found, reported=reported).decisive


def test_a_decisive_match_stands_above_a_vague_one():
    index, random = STANDARD.but(ties="index", precision="next-rank"), STANDARD.but(ties="random")
    values = {random: np.array([[0.5, 0.005]]), index: np.array([[0.500001, 0]])}
    found = Explanation((Reported.parse("0.500001"),), (8,), values)
    assert [found.matches, found.decisive] == [[index, random], [index]]
    text = " ".join(str(found).split())
    assert f"(an unstable sort) gives this or any value near it: mAP 0.50000 ± 0.00500. {ASKED}" in text
    only_random = Explanation((Reported.parse("0.500001"),), (8,), {random: values[random]})
    assert only_random.matches == [random]
    assert not only_random.decisive
    of_top = random.but("mAP@100", denominator="retrieved")  # another measure than the one with fewer variants
    both = {random: values[random], of_top: np.array([[0.501, 0.005]])}
    assert Explanation((Reported.parse("0.500001"),), (8,), both).matches == [random, of_top]


@pytest.mark.parametrize(("score", "start"), [(".6567", "2 evaluations"), (".6566581234567", "1 evaluation")])
def test_an_unstable_sort_is_named_beside_a_stable_one(score, start):
    index, random = INDEX, STANDARD.but(ties="random")
    values = {index: np.array([[0.656672, 0]]), random: np.array([[0.6567, 0.0002]])}
    found = Explanation((Reported.parse(score),), (16,), values)
    assert random in found.matches
    assert index not in found.decisive
    text = " ".join(str(found).split())
    assert text.startswith(start)
    assert "An arbitrary order of ties (an unstable sort) gives this or any value near it: mAP 0.65670 ± 0.0002" in text


@pytest.mark.parametrize("ties", ["index", "reversed"])
def test_an_unstable_sort_is_not_the_cause_if_another_order_of_ties_agrees_at_two_lengths(ties):
    known, random = STANDARD.but(ties=ties), STANDARD.but(ties="random")
    values = {known: np.array([[0.29959424380444, 0], [0.47636669928631, 0]])}
    values[random] = np.array([[0.30027, 5.4e-4], [0.47637, 2.0e-4]])
    found = Explanation((*map(Reported.parse, ("0.2996", "0.4764")),), (16, 64), values)
    assert {*found.matches} == {known, random}
    assert str(found).startswith("2 evaluations agree with 0.2996 (16 bits), 0.4764 (64 bits)")
    for repeated in ("0.2995942438044463", "0.47636669928630921"), ("0.299594243804", "0.4763666992863"):
        all_digits = replace(found, reported=(*map(Reported.parse, repeated),))
        assert all_digits.decisive[0] == known


def test_a_rare_fault_is_not_decisive_if_an_unstable_sort_gives_the_score_of_it_as_easily():
    fault, random = Way("mAP", (("distance", "saturating"),)), STANDARD.but(ties="random")
    values = {fault: np.array([[0.64910, 0], [0.77956, 0]]), random: np.array([[0.64912, 4.8e-4], [0.77958, 1.9e-4]])}
    found = Explanation((*map(Reported.parse, ("0.6490", "0.7796")),), (24, 48), values)
    assert found.matches[0] == random
    wide = [1.5e-4 / (np.sqrt(2 * np.pi) * sigma) for sigma in (4.8e-4, 1.9e-4)]
    np.testing.assert_allclose(found.chance(fault), np.prod(wide))
    more_digits = (Reported.parse("0.6491000"), Reported.parse("0.7795600"))
    assert replace(found, reported=more_digits).decisive[0] == fault


def test_undefined_queries_at_one_code_length_alone_are_treated_at_all():
    query, labels = np.array([[0, 0], [1, 1]]), [0, 1]
    lengths = [np.array([[0, 0], [1, 1], [1, 0]]), np.array([[1, 0], [1, 1], [0, 0]])]  # a query without a hit, none
    way = Way("mAP@1", (("ties", "index"), ("denominator", "retrieved"), ("undefined", "left-out")))
    both = explain(["0.1", "0.1"], [query] * 2, lengths, query_labels=labels, database_labels=[1, 1, 0], measure="any")
    one = explain("0.1", query, lengths[0], query_labels=labels, database_labels=[1, 1, 0], measure="any")
    np.testing.assert_array_equal(both.values[way][0], one.values[way][0])


def test_an_order_of_ties_that_gives_any_score_explains_none_with_all_digits():
    wide = {
        STANDARD.but(f"mAP@{k}", ties="random"): np.array([[0.5 + k / 10_000, 0.008], [0.46 + k / 10_000, 0.008]])
        for k in range(9)
    }
    scores = {8: ("0.51234567", "0.47234567"), 7: ("0.5123456", "0.4723456")}
    long, short = (Explanation((*map(Reported.parse, scores[n]),), (8, 16), wide) for n in scores)
    assert [*map(len, (long.matches, short.matches))] == [0, 9]
    assert all(short.chance(way) > 0.99 for way in short.matches)
    text = " ".join(str(long).split())
    could = f"but an unstable sort could: mAP@8 0.50080 ± 0.00800 0.46080 ± 0.00800. {ASKED} 9 evaluations were tried."
    assert text.startswith(f"No known order of ties gives 0.51234567 (8 bits), 0.47234567 (16 bits), {could}")
    assert "; 9 could agree, such as mAP@8 0.50080 ± 0.00800 0.46080 ± 0.00800." in text
    exact = {STANDARD: np.array([[0.12345678, 0]]), **{Way(f"P@{k}", ()): np.array([[0.12345, 0]]) for k in range(9)}}
    exact |= {Way(f"R@{k}", ()): np.array([[0.12345678 + k / 1e9, 0]]) for k in range(9)}
    assert "more digits" not in str(Explanation((Reported.parse("0.12345678"),), (8,), exact))


def test_an_evaluation_with_further_differences_that_also_agrees_is_listed():
    ways = [STANDARD, INDEX, INDEX.but(list="without-last"), INDEX.but(list="without-last", undefined="left-out")]
    values = {
        way: np.array([[value, 0]]) for way, value in zip(ways, (0.49984, 0.49924, 0.49864, 0.49864), strict=True)
    }
    found = Explanation((Reported.parse(".499"),), (8,), values, has_untried=True)
    assert found.matches == ways[:3]
    assert (found.content()["n_left_out"], found.content()["has_untried"]) == (1, True)
    text = " ".join(str(found).split())
    assert "3 evaluations agree with .499 (8 bits), rounded or cut, but perhaps by coincidence: more digits or " in text
    assert "1 with further differences give nearly the same values as a listed one." in text
    assert "Rarer rankings were not tried, because a simpler evaluation agrees." in text


def test_two_code_lengths_must_both_agree():
    one, other = case(0), case(1, n_bits=4)
    labels = one[2:]
    both = [explained("0.5", *pair[:2], *labels).values[STANDARD][0, 0] for pair in (one, other)]
    codes = [one[0], other[0]], [one[1], other[1]]
    assert STANDARD in explained([f"{value:.6f}" for value in both], *codes, *labels).matches
    assert STANDARD not in explained([f"{both[0]:.6f}", "0.111111"], *codes, *labels).matches


def test_every_variant_is_tried():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, (9, 3))
    several = explained("0.12345678", *case(3)[:2], labels[:3], labels[3:])
    query = rng.integers(0, 2, (3, 130))
    database = np.concatenate([query, 1 - query])
    single = explained("0.12345678", query, database, [0, 0, 1], [0, 0, 1, 1, 0, 0])
    undefined = explained("0.12345678", query, database, [0, 2, 1], [0, 0, 1, 1, 0, 0])
    outputs = Codes(rng.integers(-1, 2, (3, 4)) * 0.5, binarize="sign"), rng.integers(-1, 2, (6, 4)) * 0.5
    real = explained("0.12345678", *outputs, [0, 0, 1], [0, 0, 1, 1, 0, 0])
    own = explained("0.12345678", query, query, [0, 0, 1], [0, 0, 1])
    found = (several, single, undefined, real, own)
    assert {variant for each in found for way in each.values for variant in way.variants} == set(VARIANTS)


@pytest.mark.ci
def test_the_page_on_adsh_shows_the_output_of_its_blocks(shared, root, here, monkeypatch):
    for file in (shared / "data" / "published_codes" / "adsh_cifar10").iterdir():
        (here / file.name).symlink_to(file)
    monkeypatch.setenv("COLUMNS", "100")
    namespace = {"__name__": "page"}
    page = (root / "docs" / "explanation" / "one-byte-in-a-helper.md").read_text()
    for block in blocks(page):
        # The number of evaluations may depend on rounding, and so on the CPU.
        output = block.output and re.sub(
            r"\n[0-9,]+ evaluations were tried", "\n... evaluations were tried", block.output
        )
        printed = block.printed(namespace)
        assert block._replace(output=output).shows(printed), printed


def test_the_command_prints_and_writes_the_same(tmp_path, capsys):
    names, inputs = ("query-codes", "database-codes", "query-labels", "database-labels"), list[str]()
    for name, array in zip(names, arrays := case(0), strict=True):
        np.save(path := tmp_path / f"{name}.npy", array)
        inputs += [f"--{name}", str(path)]
    mean = explained("0.5", *arrays).values[STANDARD][0, 0]
    out = tmp_path / "out.json"
    assert main(["explain", "--score", f"{mean:.6f}", *inputs, "--json", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["matches"][0]["measure"] == "mAP"
    assert record["matches"][0]["variants"] == {}
    assert "mAP, the standard" in capsys.readouterr().out
    for side, labels in zip(
        ("query", "database"), arrays[2:], strict=True
    ):  # paths and labels in the order of the codes
        (tmp_path / f"{side}.txt").write_text(
            "".join(f"x/{99 - row}.png {y}\n" for row, y in enumerate(labels.tolist()))
        )
        inputs += [f"--{side}-labels", str(tmp_path / f"{side}.txt"), f"--{side}-ids", str(tmp_path / f"{side}.txt")]
    assert main(["explain", "--score", f"{mean:.6f}", *inputs]) == 0
    assert "mAP, the standard" in capsys.readouterr().out


def test_real_valued_outputs_are_ranked_as_evaluators_do():
    query, database = np.array([[0.9, -0.2, 0.0]]), np.array([[0.1, 0.5, 0.0], [-0.3, -0.1, 0.7], [0.2, -0.6, -0.4]])
    values = explained("0.12345678", Codes(query, binarize="sign"), database, [0], [1, 0, 0]).values
    expected = {
        "": (1 + 2 / 3) / 2,  # distances 1, 2, 0
        "inner-product": (1 + 2 / 3) / 2,  # -.01, -.25, .30
        "asymmetric": (1 + 2 / 3) / 2,  # .7, -.7, 1.1
        "half": (1 + (1 + 2 / 3) / 2) / 2,  # 1.5, 1.5, .5
        "zero-is-1": (1 + (1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 2) / 3,  # 1, 1, 1
    }
    assert {name: values[STANDARD.but(distance=name)][0, 0] for name in expected} == pytest.approx(expected)


def test_only_the_requested_measure_is_searched():
    assert {way.family for way in explained("0.5", *case(0), measure="precision").values} == {"precision"}
    families = {way.family for way in explained("0.5", *case(0), measure="mAP").values}
    assert families == {"mAP", "AUPRC", "MRR", "R-precision"}


@pytest.mark.parametrize(
    ("reported", "measure", "message"),
    [
        ("0.5", "mean average precision", "measure"),
        *((score, "mAP", "such as .714 or 71.4%, got ") for score in ("0.71,0.72", "101", "%", "1e-3", "nan")),
        (["0.5", "0.6"], "mAP", "must be as many, at least one, got 2 and 3 and 6"),
        ([], "mAP", "must be as many, at least one, got 0 and 3 and 6"),
    ],
)
def test_refusals(reported, measure, message):
    with pytest.raises(ProtocolError, match=message):
        explained(reported, *case(0), measure=measure)

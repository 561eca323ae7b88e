"""The papers' worked examples and arithmetic claims, each under the id it has in the list of claims."""

import numpy as np
import pytest

from protocol import codes
from protocol.metrics import evaluate, mean, pr_curve
from protocol.ranking import HammingCounts, LabelRelevance, count


def histograms(retrieved, relevant, **more):
    relevant = relevant if isinstance(relevant, dict) else np.atleast_2d(relevant)
    return HammingCounts.from_histograms(np.atleast_2d(retrieved), relevant, **more)


def untied(signs):
    """A ranking without ties, such as ``++--+``, a distance for each rank."""
    return histograms(np.ones(len(signs)), [sign == "+" for sign in signs])


def value(counts, name, **options):
    return mean(evaluate(counts, [name], **options)[name])


def random_counts(rng, n_bits, extension="none", extension_bits=0):
    query, database = codes.pack(rng.random((4, n_bits)) < 0.5), codes.pack(rng.random((30, n_bits)) < 0.4)
    labels = LabelRelevance(rng.integers(0, 3, 4), rng.integers(0, 3, 30))
    extended = codes.extend(query, database, n_bits, extension=extension, extension_bits=extension_bits)
    return count(*extended, {"t": labels})["t"]


@pytest.mark.parametrize(
    ("retrieved", "relevant", "largest"),
    [([1, 5, 4, 0, 0], [1, 3, 1, 0, 0], [1, 2, 2, 2, 2]), ([2, 4, 4, 0, 0], [2, 2, 1, 0, 0], [2, 2, 2, 2, 2])],
)
def test_s0_01_local_group_average_precision(retrieved, relevant, largest):
    counts = histograms(retrieved, relevant, largest_bucket=[largest])
    assert value(counts, "mLGAP@r2") == pytest.approx(179 / 330, abs=1e-15)
    assert round(value(counts, "mLGAP@r2"), 4) == 0.5424


def test_s0_02_penalty_is_one_for_even_buckets_only():
    every_code = codes.pack(np.array(list(np.ndindex(2, 2, 2, 2))))

    def penalties(times):
        database = np.repeat(every_code, times, axis=0)
        relevance = LabelRelevance(np.zeros(16, int), np.zeros(len(database), int))  # precision 1 in every ball
        counts = count(every_code, database, 4, {"t": relevance})["t"]
        sums = [(r + 1) * evaluate(counts, [f"mLGAP@r{r}"])[f"mLGAP@r{r}"] for r in range(5)]
        return np.diff(sums, axis=0, prepend=0).T, counts

    even, _ = penalties(np.full(16, 3))
    assert even == pytest.approx(np.ones((16, 5)))
    times = np.array([3] * 15 + [2])
    uneven, counts = penalties(times)
    assert ((uneven > 0) & (uneven <= 1 + 1e-12)).all()
    holds_the_smaller_one = codes.hamming_distance(every_code, every_code[15:]) <= np.arange(5)
    alone = holds_the_smaller_one & (np.arange(5) == 0)  # a ball of one code is even whatever it holds
    np.testing.assert_array_equal(np.isclose(uneven, 1), ~holds_the_smaller_one | alone)
    assert counts.n_database == 47


@pytest.mark.parametrize("seed", range(5))
def test_s0_03_the_order_of_the_items_moves_map_but_not_mlgap(seed):
    rng = np.random.default_rng(seed)
    query, database = codes.pack(rng.random((4, 5)) < 0.5), codes.pack(rng.random((60, 5)) < 0.5)
    of_query, of_database = rng.integers(0, 2, 4), rng.integers(0, 2, 60)

    def values(order):
        truth = LabelRelevance(of_query, of_database[order])
        counts = count(query, database[order], 5, {"t": truth}, index_order=True)["t"]
        return [value(counts, name) for name in ("mLGAP@r3", "mAP[index]")]

    (before, in_order), (after, reordered) = values(np.arange(60)), values(rng.permutation(60))
    assert before == after
    assert in_order != reordered


@pytest.mark.parametrize("n_bits", [2, 3])
def test_s0_06_perfect_map_leaves_half_of_the_codes_unused(n_bits):
    """The bound printed is 2/3; trying all ways to give the codes to two classes finds 1/2."""
    n_codes = 2**n_bits
    every_code = codes.pack(np.array(list(np.ndindex(*[2] * n_bits))))
    distances = codes.hamming_distance(every_code, every_code)

    def perfect(of_code):  # every item of the own class is nearer than any of the other
        used = np.flatnonzero(of_code)
        same = of_code[used, None] == of_code[used]
        apart = distances[np.ix_(used, used)]
        farthest = np.where(same, apart, -1).max(axis=1)
        nearest = np.where(same, n_bits + 1, apart).min(axis=1)
        return (farthest < nearest).all()

    both = (of_code for of_code in np.ndindex(*[3] * n_codes) if {1, 2} <= set(of_code))
    best = max((of_code for of_code in map(np.array, both) if perfect(of_code)), key=np.count_nonzero)
    used = np.flatnonzero(best)
    counts = count(every_code[used], every_code[used], n_bits, {"t": LabelRelevance(best[used], best[used])})["t"]
    assert value(counts, "mAP[worst]") == 1
    assert value(counts, "utilisation") == 1 / 2 <= 2 / 3


def test_s0_07_orthodrome_of_four_bits():
    path = np.cumsum([np.eye(4, dtype=int)[bit - 1] for bit in (2, 4, 1, 3) * 2], axis=0) % 2
    packed = codes.pack(path)
    assert len(np.unique(packed)) == 8
    np.testing.assert_array_equal(np.diag(codes.hamming_distance(packed, np.roll(packed, 1, axis=0))), 1)


@pytest.mark.parametrize("n_bits", [1, 12, 64])
def test_s1_01_and_s3_01_hamming_distance_from_products(n_bits):
    rng = np.random.default_rng(n_bits)
    bits = rng.random((2, 9, n_bits)) < 0.5
    query, database = np.where(bits, 1.0, -1.0)
    distances = codes.hamming_distance(codes.pack(bits[0]), codes.pack(bits[1]))
    np.testing.assert_array_equal(distances, (n_bits - query @ database.T) / 2)
    unit = (query[:, None] - database) / np.sqrt(n_bits)
    np.testing.assert_allclose(distances, n_bits / 4 * (unit**2).sum(axis=2), atol=1e-12)


def test_s0_04_one_bucket_of_ten():
    counts = histograms([10, 0], [5, 0])
    assert value(counts, "mAP[best]") == 1.0
    assert value(counts, "mAP[worst]") == pytest.approx(0.3543650793650794, abs=1e-15)
    assert value(counts, "mAP") == pytest.approx(0.6071649029982363, abs=1e-15)


def test_s0_05_equal_precision_different_ap():
    first, second = untied("+-"), untied("-+")
    assert value(first, "P@2") == value(second, "P@2") == 0.5
    assert value(first, "mAP@2[retrieved]") == 1.0
    assert value(second, "mAP@2[retrieved]") == 0.5


def test_s1_02_relevant_among_the_top_as_denominator():
    assert value(untied("+----"), "mAP@5[retrieved]") == 1.0
    assert value(untied("+---+"), "mAP@5[retrieved]") == pytest.approx(0.7)
    assert value(untied("+---+"), "mAP@1[retrieved]") == 1.0  # not monotone in the cutoff


@pytest.mark.parametrize(("level", "gain"), [(1, 1), (2, 3), (3, 7)])
def test_s1_03_gains(level, gain):
    after_a_one = {1: [[1, level == 1]]} | ({level: [[0, 1]]} if level > 1 else {})
    second = 1 / np.log2(3)
    wanted = (1 + gain * second) / (gain + second)
    assert value(HammingCounts.from_histograms([[1, 1]], after_a_one), "nDCG") == pytest.approx(wanted)


def test_s2_01_bucket_probes_of_8_bits():
    counts = histograms([1, 8, 28, 56, 70, 56, 28, 8, 1], [1, 8, 28, 56, 70, 56, 28, 8, 1])
    sums = [(r + 1) * value(counts, f"RAMAP@r{r}") for r in range(9)]
    probes = 1 / np.diff(sums, prepend=0)
    printed = [1, 9, 37, 93, 163, 219, 247, 255, 256]
    assert probes == pytest.approx(printed)
    assert [value(counts, f"lookups@r{r}") for r in range(9)] == printed


def with_precisions(ten_thousandths, n_bits):
    """Counts of one query with the given precisions at radius 0, 1, ...; the ball is empty where it is None."""
    balls = np.array([0 if p is None else 10_000 * 4**r for r, p in enumerate(ten_thousandths)])
    found = np.array([0 if p is None else p * 4**r for r, p in enumerate(ten_thousandths)])
    rest = np.zeros(n_bits + 1 - balls.size, dtype=int)
    return histograms(np.append(np.diff(balls, prepend=0), rest), np.append(np.diff(found, prepend=0), rest))


PRECISIONS = [1896, 1651, 1433, 1261]
TABLES = {
    "LSH": (8, PRECISIONS, [0.1896, 0.1040, 0.0706, 0.0533]),
    "same, s=1": (9, PRECISIONS, [0.1896, 0.1030, 0.0697, 0.0525]),
    "same, s=8": (16, PRECISIONS, [0.1896, 0.0996, 0.0668, 0.0501]),
    "different, s=1": (9, [None, *PRECISIONS], [0.0000, 0.0095, 0.0075, 0.0059, 0.0048]),
}


@pytest.mark.parametrize("row", TABLES)
def test_s2_03_and_s2_05_tables_follow_from_the_precisions(row):
    n_bits, precisions, printed = TABLES[row]
    counts = with_precisions(precisions, n_bits)
    for radius, number in enumerate(printed):
        ones = with_precisions([None if p is None else 10_000 for p in precisions], n_bits)
        rounding = 5e-5 + 5e-5 * value(ones, f"RAMAP@r{radius}")  # of the printed value and of the precisions
        assert abs(value(counts, f"RAMAP@r{radius}") - number) <= rounding + 1e-12
    if row.startswith("different"):
        assert value(counts, "RAMAP@r0") == 0.0  # S2-05: an empty ball has 0, and the query counts


@pytest.mark.parametrize(
    ("n_bits", "shift", "printed"),
    [
        (8, 0, {4: 0.0428, 8: 0.0239}),
        (9, 0, {4: 0.0421, 8: 0.0235, 9: 0.0212}),
        (16, 0, {8: 0.0223, 9: 0.0201}),
        (9, 1, {8: 0.0028, 9: 0.0025}),
    ],
)
def test_s2_03_larger_radii_lie_between_the_bounds(n_bits, shift, printed):
    """Precisions at radius 4 to 7 are not printed; they lie between those at 3 and 8."""
    for radius, number in printed.items():
        low, high = (
            value(with_precisions(row[: radius + 1], n_bits), f"RAMAP@r{radius}")
            for p in (1000, 1261)
            for row in [[None] * shift + PRECISIONS + [p] * 4 + [1000] * (n_bits - 7)]
        )
        assert low - 1e-4 <= number <= high + 1e-4


def test_s2_04_the_last_ball_holds_the_whole_database():
    counts = histograms([30_000, 29_000], [3_000, 2_900])  # 59,000 items, 5,900 of the query's class
    assert value(counts, "precision@r1") == value(counts, "P@59000") == 0.1
    assert value(counts, "recall@r1") == value(counts, "R@59000") == 1.0


def test_s2_06_precision_and_recall_do_not_see_the_difference():
    one, two = histograms([4, 10, 6], [2, 5, 3]), histograms([4, 10, 6], [3, 4, 3])
    for counts in (one, two):
        assert value(counts, "precision@r1") == 0.5
        assert value(counts, "recall@r1") == pytest.approx(0.7)
    assert value(one, "RAMAP@r1") < value(two, "RAMAP@r1")


@pytest.mark.parametrize("seed", range(20))
def test_s2_07_extension_codes(seed):
    n_bits, s = 2 + seed % 6, 1 + seed % 3
    plain, same, different = (
        random_counts(np.random.default_rng(seed), n_bits, extension, 0 if extension == "none" else s)
        for extension in codes.EXTENSIONS
    )
    np.testing.assert_array_equal(different.retrieved[:, s:], plain.retrieved)
    assert not different.retrieved[:, :s].any()
    for name in ("mAP", "mAP@7[retrieved]", "mAP@7[all]"):
        np.testing.assert_allclose(evaluate(same, [name])[name], evaluate(plain, [name])[name], rtol=1e-13)
        np.testing.assert_allclose(evaluate(different, [name])[name], evaluate(plain, [name])[name], rtol=1e-13)
    for radius in range(n_bits + 1):
        for name in (f"precision@r{radius}", f"recall@r{radius}"):
            np.testing.assert_array_equal(evaluate(same, [name])[name], evaluate(plain, [name])[name])
        name = f"RAMAP@r{radius}"
        first, second, third = (evaluate(counts, [name])[name] for counts in (plain, same, different))
        assert (first >= second - 1e-15).all()
        assert (second >= third - 1e-15).all()
    assert value(plain, "RAMAP@r1") > value(same, "RAMAP@r1") > value(different, "RAMAP@r1")


def test_s3_02_single_items_and_empty_distances_need_no_special_case():
    counts = histograms([1, 0, 2, 1], [0, 0, 1, 1])
    assert value(counts, "mAP") == pytest.approx(((1 / 2 + 1 / 3) / 2 + 2 / 4) / 2)


def test_s3_03_cutoff_inside_a_tie():
    counts = histograms([4, 0], [2, 0])
    assert value(counts, "mAP@2[retrieved]") == pytest.approx(2 / 3)
    expected_sum = value(counts, "mAP@2[all]") * 2  # over N+ = 2; the expected number of relevant items above is 1
    assert expected_sum == pytest.approx(5 / 6)


def test_s3_04_tie_aware_dcg_at_a_cutoff():
    counts = HammingCounts.from_histograms([[3, 1]], {1: [[1, 0]], 2: [[0, 1]]})
    second = 1 / np.log2(3)
    assert value(counts, "nDCG@2") == pytest.approx((1 / 3) * (1 + second) / (3 + second))


@pytest.mark.parametrize(("before", "after"), [(1, 2), (5, 9), (100, 1000), (10**6 - 50, 10**6)])
def test_s3_07_the_logarithm_overestimates_the_precisions_of_a_tie(before, after):
    """AP of a tie of relevant items needs H(after) - H(before); the paper's logarithm is above by about n/(2 a b)."""
    harmonic = (1 / np.arange(before + 1, after + 1)).sum()
    error = np.log(after / before) - harmonic
    assert error > 0
    assert abs(error - (after - before) / (2 * before * after)) <= 1 / (12 * before**2)


def test_s3_19_gains_of_graded_relevance():
    """Levels 1, 2, 5, 10: alone at the top, each has the DCG of its gain over the sum of all in the best order."""
    gains = np.array([1, 3, 31, 1023])
    counts = histograms(
        [1, 1, 1, 1], {level: [row] for level, row in zip((1, 2, 5, 10), np.eye(4, dtype=int), strict=True)}
    )
    discounts = 1 / np.log2(np.arange(2, 6))
    assert value(counts, "nDCG") == pytest.approx(gains @ discounts / (gains[::-1] @ discounts), rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_s3_14_expected_ap_lies_in_the_range_of_ties(seed):
    counts = random_counts(np.random.default_rng(seed), 3)
    worst, expected, best = evaluate(counts, ["mAP[worst]", "mAP", "mAP[best]"]).values()
    assert (worst < expected).all()
    assert (expected < best).all()


def test_s2_02_only_a_truncated_denominator_can_fall_with_the_cutoff():
    counts = random_counts(np.random.default_rng(0), 6)
    by_cutoff = {
        denominator: [evaluate(counts, [name])[name] for k in range(1, 31) for name in [f"mAP@{k}[{denominator}]"]]
        for denominator in ("all", "retrieved")
    }
    assert (np.diff(by_cutoff["all"], axis=0) >= -1e-15).all()
    assert (np.diff(by_cutoff["retrieved"], axis=0) < -1e-3).any()


def test_s4_02_toy_ranking():
    assert value(untied("++--+"), "mAP") == pytest.approx(13 / 15)
    assert round(value(untied("++--+"), "mAP"), 2) == 0.87


def test_s4_03_micro_precision_and_recall():
    counts = histograms([[1, 3, 0], [3, 1, 0]], [[1, 1, 0], [2, 1, 0]])  # at radius 0: TP 3, FP 1, FN 2
    precision, recall = value(counts, "precision_micro@r0"), value(counts, "recall_micro@r0")
    assert (precision, recall) == (0.75, 0.6)
    assert value(counts, "F1_micro@r0") == pytest.approx(2 / 3)  # printed: 0.78
    for beta in ("0.01", "0.5", "2", "100"):
        assert recall <= value(counts, f"F{beta}_micro@r0") <= precision
    assert value(counts, "precision@r0") == pytest.approx((1 + 2 / 3) / 2)
    macro = histograms([[1, 4], [3, 2]], [[1, 0], [2, 2]])  # TP, FP, FN of 1, 0, 0 and of 2, 1, 2
    assert value(macro, "F1@r0") == pytest.approx((1 + 4 / 7) / 2)  # the reading nearest to 0.78; it rounds to 0.79


@pytest.mark.parametrize("seed", range(5))
def test_s4_04_both_forms_of_the_f_measure_agree_and_a_small_beta_favours_precision(seed):
    counts = random_counts(np.random.default_rng(seed), 4)
    betas = ("0.01", "0.5", "1", "2", "100")
    for radius in range(5):
        for average, at in (("", f"@r{radius}"), ("_micro", f"_micro@r{radius}")):
            precision, recall = evaluate(counts, [f"precision{at}", f"recall{at}"]).values()
            by_beta = np.array([evaluate(counts, [name])[name] for name in (f"F{beta}{at}" for beta in betas)])
            found = (precision > 0) & (recall > 0)
            for beta, values in zip(map(float, betas), by_beta, strict=True):
                wanted = (1 + beta**2) * precision * recall / np.where(found, beta**2 * precision + recall, 1)
                np.testing.assert_allclose(values, wanted, rtol=1e-12)
            np.testing.assert_allclose(by_beta[0][found], precision[found], rtol=1e-2)
            np.testing.assert_allclose(by_beta[-1][found], recall[found], rtol=1e-2)
            favours_precision = np.sign(precision - recall) * np.diff(by_beta, axis=0) <= 1e-15
            assert favours_precision[:, found].all(), average


def test_s4_05_perfect_ranking():
    counts = histograms([5, 0, 7], [5, 0, 0])
    areas = {rule: value(counts, f"AUPRC[{rule}]") for rule in ("sum", "trapezoid", "area")}
    assert areas == {"sum": 0.0, "trapezoid": 0.0, "area": 1.0}
    assert pr_curve(counts).precision[0] == pr_curve(counts).recall[0] == 1.0  # what radius 0 adds to the printed sum


def test_s4_06_map_and_area_differ_without_skewed_relevance():
    counts = histograms([[1, 1, 0, 0], [0, 0, 1, 1]], [[1, 0, 0, 0], [0, 0, 1, 0]])
    assert value(counts, "mAP") == 1.0
    assert value(counts, "AUPRC[sum]") == pytest.approx(1 / 3)
    assert value(counts, "AUPRC[area]") == pytest.approx(0.7916666666666666)
    at_0 = value(counts, "precision_micro@r0") * value(counts, "recall_micro@r0")
    assert value(counts, "AUPRC[sum]") + at_0 == pytest.approx(0.8333333333333334)


@pytest.mark.parametrize("seed", range(5))
def test_s4_13_micro_precision_and_recall_are_sums_over_the_queries_and_map_is_a_mean(seed):
    counts = random_counts(np.random.default_rng(seed), 4)
    for radius in range(5):
        found, size = counts.relevant_within[:, radius].sum(), counts.retrieved_within[:, radius].sum()
        assert value(counts, f"precision_micro@r{radius}") == found / max(size, 1)
        assert value(counts, f"recall_micro@r{radius}") == found / counts.n_relevant.sum()
    alone = [
        HammingCounts.from_histograms(counts.retrieved[[q]], counts.relevant[[q]]) for q in range(counts.n_queries)
    ]
    for k in (1, 5, 30):
        macro = np.mean([value(of_query, f"mAP@{k}[retrieved]") for of_query in alone])
        assert value(counts, f"mAP@{k}[retrieved]") == pytest.approx(macro)


@pytest.mark.parametrize("empty", ["zero", "drop"])
@pytest.mark.parametrize("seed", range(5))
def test_x_01_mlgap_is_ramap_times_ball_over_largest_bucket(seed, empty):
    counts = random_counts(np.random.default_rng(seed), 4)
    for radius in range(5):
        ramap, mlgap = evaluate(counts, [f"RAMAP@r{radius}", f"mLGAP@r{radius}"], empty=empty).values()
        assert (np.isnan(ramap) == np.isnan(mlgap)).all()
        assert not (mlgap < ramap - 1e-15).any()
    one_bucket = histograms([6, 0, 0], [2, 0, 0])
    assert value(one_bucket, "mLGAP@r2") == value(one_bucket, "RAMAP@r2") > 0

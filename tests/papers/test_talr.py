"""Claims of *Hashing as Tie-Aware Learning to Rank*."""

import pytest
from evidence import CASES, SHRINKING, by_length, judged, ranges, rows_of, seconds, supervised, ties

from protocol import papers
from protocol.hashers.talr.objectives import ap_s
from protocol.papers.claim import NOT_DECIDED, NOT_RUN, REFUTED, REPLICATED, SO_FAR
from protocol.papers.claim import SUBSTITUTE_REPLICATED as ON_SUBSTITUTE
from protocol.papers.talr import claims as functions

LENGTHS = (12, 24, 32, 48)


def test_ranges_of_single_runs_and_of_means_are_judged_apart(verdict):
    found = verdict("S3-14", [*ties(SHRINKING), *ties({12: 0.05, 24: 0.1}, n_runs=1, split="cifar10_s1")])
    assert found.named(False) == ["steps to more bits where the range of a single run grows"]
    shown = found.evidence.by_reading["as printed"]
    assert shown["where the range of a single run grows"] == "lsh, cifar10_s1, 12 to 24 bits"
    assert verdict("S3-14", ties(SHRINKING)).named(None) == ["steps to more bits where the range of a single run grows"]


def test_a_score_that_lacks_a_reading_of_ties_is_left_out(verdict):
    rows = [row for row in ties(SHRINKING) if row["metric"] != "mAP[index]"]
    assert verdict("S3-14", rows).status == NOT_RUN


def test_the_paper_s_own_features_go_before_a_substitute(verdict):
    of_vgg = [row | {"feature": "vgg_f"} for row in ties(SHRINKING)]
    off = list(ties({12: 0.05, 24: 0.1}, index=0.3))
    assert verdict("S3-14", of_vgg + off).evidence.substitute == ""
    assert verdict("S3-14", of_vgg + off).named(False) == []
    assert verdict("S3-14", off).evidence.substitute == "GIST for VGG-F and other methods"


def test_methods_are_compared_within_a_table(tmp_path):
    one = rows_of(tmp_path / "a" / "summary.csv", list(ranges((0.2, 0.21))))
    other = rows_of(tmp_path / "b" / "summary.csv", [row | {"n_runs": 1} for row in ranges((0.5, 0.51))])
    assert judged("X-10", one, other).status == ON_SUBSTITUTE


def test_shallow_features_are_not_compared_with_table_1(verdict):
    gist = [row | {"feature": "gist"} for row in CASES["S3-15"].refuting]
    assert verdict("S3-15", gist).status == NOT_RUN
    found = verdict(
        "S3-15", [row for row in CASES["S3-15"].confirming if row["hasher"] == "talr_ap" and row["n_bits"] != 48]
    )
    assert found.status == NOT_RUN, "a code length is missing"


def constant(value):
    for metric in ("mAP", "nDCG"):
        for draw in range(10):
            yield {"dataset": "nuswide_21", "statistic": f"{metric} of constant codes, draw {draw}", "value": value}


@pytest.mark.parametrize(("number", "part"), [("S3-15", "NUS-WIDE, MACHash"), ("S3-17", "MACHash")])
def test_constant_codes_are_shown_and_support_nothing(verdict, number, part):
    (right,) = {claim.expected[part][0] for claim in papers.all_claims() if claim.id == number}
    found = verdict(number, constant(right))
    assert (found.status, found.named(True)) == (NOT_RUN, [])
    (shown,) = found.evidence.by_reading["as printed"].values()
    assert shown == pytest.approx(right)
    found = verdict(number, [*constant(0.5), *CASES[number].confirming])
    assert (found.status, found.evidence.substitute) == (REPLICATED, "")


def test_hashnet_and_ksh_are_another_reading_of_table_1(verdict):
    means = {"talr_ap": 0.4, "dtsh": 0.35, "dpsh": 0.3, "hashnet": 0.37}
    found = verdict("X-13", supervised(means))
    assert (found.status, found.reading) == (ON_SUBSTITUTE, "as printed")
    other = found.evidence.by_reading["with HashNet and KSH"]
    assert other["S1, code lengths where the triplet method is not above the best pair-wise one"] == 4


def test_a_difference_within_its_interval_decides_nothing(verdict):
    rows = [row | {"n_runs": 5, "std": 0.02} for row in supervised({"talr_ap": 0.4, "dtsh": 0.39, "dpsh": 0.1})]
    found = verdict("X-13", rows)
    assert found.status == SO_FAR
    assert len(found.not_decided) == 4
    assert verdict("X-13", [row | {"std": 0.001} for row in rows]).status == ON_SUBSTITUTE


def test_a_network_on_labelme_is_not_the_linear_hasher_of_table_3(verdict):
    rows = [row | {"hasher": row["hasher"].removesuffix("_linear")} for row in CASES["S3-18"].confirming]
    assert {"DPSH", "DTSH", "MIHash"} <= set(verdict("S3-18", rows).not_run)
    other = [row | {"feature": "alexnet"} for row in CASES["S3-18"].confirming]
    assert verdict("S3-18", other).status == NOT_RUN


def test_another_slope_than_40_is_not_that_of_appendix_d(verdict):
    columns = {"feature": "vgg_f", "split": "cifar10_s1"}
    assert verdict("S3-20", by_length("talr_ap", [0.732, 0.789, 0.800, 0.826], LENGTHS, **columns)).status == NOT_RUN


def test_a_kind_of_objectives_is_as_good_as_its_best_method(verdict):
    best = {"talr_ap": 0.4, "mihash": 0.1, "dtsh": 0.35, "dpsh": 0.3, "hashnet": 0.1}
    assert verdict("X-13", supervised(best)).status == ON_SUBSTITUTE
    other = verdict("X-13", supervised(best | {"mihash": 0.45}))
    assert other.named(False) == [
        f"{setting}, code lengths where TALR-AP is not above every other method" for setting in ("S1", "S2")
    ]
    assert verdict("X-13", supervised({name: 0.3 for name in best if name != "dtsh"})).status == NOT_RUN


def test_one_setting_of_cifar10_decides_its_own_parts(verdict):
    rows = [row for row in supervised({"talr_ap": 0.4, "dtsh": 0.35, "dpsh": 0.3}) if row["split"] == "cifar10_s2"]
    found = verdict("X-13", rows)
    assert (found.status, len(found.named(True)), len(found.named(None))) == (SO_FAR, 3, 3)
    assert found.evidence.by_reading["as printed"]["S2, code lengths"] == list(LENGTHS)


def test_a_classifier_competes_if_it_is_close_to_the_best(verdict):
    rows = [*supervised({"classifier_probabilities": 0.395, "classifier": 0.1, "dtsh": 0.2, "talr_ap": 0.4})]
    assert verdict("X-15", rows).status == ON_SUBSTITUTE
    assert verdict("X-15", [row for row in rows if row["hasher"] != "talr_ap"]).status == ON_SUBSTITUTE
    assert verdict("X-15", [row for row in rows if "classifier" not in row["hasher"]]).status == NOT_RUN
    noisy = [row | {"n_runs": 5, "std": 0.02} for row in supervised({"classifier": 0.38, "talr_ap": 0.4})]
    assert verdict("X-15", noisy).status == NOT_DECIDED


def test_a_growing_slope_and_a_constant_one_are_parts(verdict):
    columns = {"feature": "vgg_f", "split": "cifar10_s1"}
    found = verdict("S3-20", by_length("talr_ap_40", [0.732, 0.789, 0.800, 0.826], LENGTHS, **columns))
    assert (found.status, found.named(True), found.named(None)) == (SO_FAR, ["alpha 40"], ["alpha without bound"])


def test_time_is_judged_by_the_growth_of_the_database(verdict):
    found = verdict("S3-21", seconds(0.1, 0.9, 10.0))
    assert found.named(False) == ["time for 1,000,000 items, divided by that for 100,000"]


def test_a_wrong_gradient_is_detected(monkeypatch):
    def wrong(gain, total, best):
        ranked = ap_s(gain, total, best)
        return ranked._replace(by_total=ranked.by_total / 2)

    monkeypatch.setattr(functions, "ap_s", wrong)
    for number in ("S3-10", "S3-12"):
        assert judged(number).status == REFUTED

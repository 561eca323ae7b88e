"""Claims of *Mean Local Group Average Precision*."""

import pytest
from evidence import METHODS, NEW, OLD, network, of_both, of_methods, table_1, within

from protocol.papers.claim import NOT_RUN, REPLICATED, SO_FAR, SOME_FAIL
from protocol.papers.claim import SUBSTITUTE_NOT_REPLICATED as NOT_ON_SUBSTITUTE
from protocol.papers.claim import SUBSTITUTE_REPLICATED as ON_SUBSTITUTE


@pytest.mark.parametrize(
    "other", [{"n_bits": 16}, {"dataset": "digits"}, {"ground_truth": "epsilon_ball"}, {"feature": "pixels"}]
)
def test_other_rows_do_not_count_for_unsupervised_methods(verdict, other):
    rows = of_methods("mAP", [0.15] * 8)
    assert verdict("S0-08", rows + [row | {"mean": 0.9} | other for row in rows]).status == ON_SUBSTITUTE
    assert verdict("S0-08", rows + [row | {"mean": 0.9, "split": "improved"} for row in rows]).status == (
        NOT_ON_SUBSTITUTE
    )


def test_unsupervised_methods_are_judged_once_all_eight_are_there(verdict):
    rows = of_methods("utilisation", [0.6] * 7 + [0.4])
    assert verdict("S0-09", rows[:-1]).status == NOT_RUN
    found = verdict("S0-09", rows)
    assert (found.status, found.named(False)) == (SOME_FAIL, [f"{METHODS[-1]}: share of unused codes"])


def test_a_network_is_a_substitute_unless_its_name_has_the_epochs_of_the_paper(verdict):
    networks = table_1("deep_supervised_750", OLD)
    assert verdict("S0-10", networks).status == REPLICATED
    fewer = verdict("S0-10", table_1("deep_supervised", OLD))
    assert (fewer.status, fewer.evidence.substitute) == (ON_SUBSTITUTE, "training of fewer epochs than 750")
    named = verdict("S0-10", table_1("deep_supervised_90", OLD))
    assert (named.status, named.evidence.substitute) == (ON_SUBSTITUTE, "90 epochs for 750")
    other = verdict("S0-10", [row | {"split": "standard"} for row in networks])
    assert (other.status, other.evidence.substitute) == (
        ON_SUBSTITUTE,
        "the split standard for the official one",
    )
    assert verdict("S0-10", [row | {"feature": "gist"} for row in networks]).status == NOT_RUN


def test_the_longest_training_of_both_objectives_is_compared(verdict):
    short = table_1("deep_supervised", NEW) + table_1("buffer_zone", OLD)
    longer = table_1("deep_supervised_90", OLD) + table_1("buffer_zone_90", NEW)
    assert verdict("S0-12", short).status == NOT_ON_SUBSTITUTE
    assert verdict("S0-12", short + longer).status == ON_SUBSTITUTE
    alone = table_1("deep_supervised_750", OLD)
    found = verdict("S0-12", short + longer + alone)
    assert (found.status, found.evidence.substitute) == (ON_SUBSTITUTE, "90 epochs for 750")
    both = alone + table_1("buffer_zone_750", NEW)
    assert verdict("S0-12", short + longer + both).status == REPLICATED


def test_each_part_of_table_1_is_judged_separately(verdict):
    cifar10 = [row for row in table_1("buffer_zone", NEW) if row["dataset"] == "cifar10"]
    found = verdict("S0-11", cifar10)
    assert (found.status, len(found.named(True)), len(found.named(None))) == (SO_FAR, 4, 4)
    cifar10[0] = cifar10[0] | {"mean": 0.9}
    found = verdict("S0-11", cifar10)
    assert found.named(False) == ["CIFAR-10, 12 bits: mLGAP"]
    assert found.summary == (
        "3 of 8 parts hold, 4 not run; read as: mLGAP at radius 2; training of fewer epochs than 750"
    )


@pytest.mark.parametrize(
    ("map_new", "mlgap_new", "holding"), [(0.3, 0.3, 4), (0.3, 0.1, 2), (0.7, 0.3, 2), (0.7, 0.1, 0)]
)
def test_the_two_objectives_are_compared_part_by_part(verdict, map_new, mlgap_new, holding):
    means = {"deep_supervised": (0.6, 0.2), "buffer_zone": (map_new, mlgap_new)}
    rows = [
        row
        for hasher, (of_map, of_mlgap) in means.items()
        for n_bits in (12, 24)
        for row in network(hasher, "CIFAR-10", n_bits, mAP=of_map, **{f"mLGAP_r{r}": of_mlgap for r in range(3)})
    ]
    found = verdict("S0-12", rows)
    status = SO_FAR if holding == 4 else SOME_FAIL
    assert (found.status, len(found.named(True)), len(found.named(None))) == (status, holding, 4)
    assert len(found.evidence.by_reading) == 3


def test_the_other_margin_is_a_separate_reading(verdict):
    rows = table_1("deep_supervised", OLD) + table_1("buffer_zone", OLD)
    half = table_1("buffer_zone_half", NEW)
    assert verdict("S0-12", rows).status == NOT_ON_SUBSTITUTE
    found = verdict("S0-12", rows + half)
    assert (found.status, found.reading) == (ON_SUBSTITUTE, "mLGAP at radius 2, m = k")
    assert verdict("S0-11", rows + half).reading == "mLGAP at radius 2, m = k"


def test_heads_over_gist_are_shown_but_not_judged(verdict):
    pixels = of_both("utilisation", 0.3, 0.6)
    gist = [row | {"feature": "gist"} for row in of_both("utilisation", 0.6, 0.3)]
    found = verdict("X-02", pixels + gist)
    assert found.status == ON_SUBSTITUTE
    shown = {name: value for name, value in found.evidence.by_reading["as printed"].items() if "GIST" in name}
    assert list(shown.values()) == [0.5, 0.5]
    assert verdict("X-02", gist).status == NOT_RUN


def test_true_positives_nearby_are_always_judged_on_a_substitute(verdict):
    rows = [row | {"hasher": "buffer_zone_750"} for row in within(0.3, 0.5)]
    found = verdict("S0-15", rows)
    assert (found.status, found.evidence.substitute) == (
        ON_SUBSTITUTE,
        "all queries and items of their class for one query and cats' heads",
    )
    assert verdict("S0-15", within(0.25, 0.5)).status == NOT_ON_SUBSTITUTE
    assert verdict("S0-15", within(0.0, 0.0)).status == NOT_RUN

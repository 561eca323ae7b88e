"""What rules declare: for every rule that runs, growing with the dataset, in every shipped setting."""

import re

import pytest
import yaml


def test_every_rule_that_runs_a_script_declares_its_own_needs(resources, root):
    named = set()
    for file in (root / "workflow" / "rules").glob("*.smk"):
        for rule, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", file.read_text(), re.M):
            if "    script:" in body:
                assert re.findall(r'\*\*NEEDS\["(\w+)"\]', body) == [rule]
                named.add(rule)
    assert named == set(resources.NEEDS)


def test_needs_grow_with_the_dataset(resources, root):
    def needs(n):
        setting = yaml.safe_load((root / "workflow" / "config" / "synthetic.yaml").read_text())
        setting["dataset_options"]["n"] = n
        return resources.declared(resources.size(resources.settings.load(setting)))

    small, large = needs(100_000), needs(1_000_000)
    assert large["hash"]["mem_mb"] - small["hash"]["mem_mb"] == round(4 * 900_000 * 128 * 4 / 2**20)
    assert large["count"]["runtime"] > small["count"]["runtime"]
    assert all(large[rule][key] >= small[rule][key] for rule in small for key in ("mem_mb", "runtime"))


def test_affinities_grow_with_the_square_of_the_training_rows(resources, root):
    def needs(n_train, hashers, affinities="graded_distance", **options):
        setting = yaml.safe_load((root / "workflow" / "config" / "synthetic.yaml").read_text())
        setting |= {"hashers": hashers, "affinities": affinities, "ground_truth_options": {affinities: options}}
        setting["dataset_options"]["n"] = 100_000
        setting["split_sizes"]["train"] = n_train
        return resources.declared(resources.size(resources.settings.load(setting)))

    learns, does_not = ["lsh", "talr_ndcg"], ["lsh", "talr_ap"]
    without, small, large = needs(20_000, does_not), needs(20_000, learns), needs(40_000, learns)
    assert needs(40_000, does_not) == needs(40_000, learns, "class_label") == without
    pairs = {"percentiles": [10, 1], "levels": [1, 2]}
    for rule in ("hash", "search"):
        own, four_times, twice = (
            needs_of[rule]["mem_mb"] - without[rule]["mem_mb"]
            for needs_of in (small, large, needs(20_000, learns, **pairs))
        )
        assert own == pytest.approx(1.5 * 8 * 0.05 * 20_000**2 / 2**20, abs=1)
        assert four_times == pytest.approx(4 * own, abs=4)
        assert twice == pytest.approx(2 * own, abs=2)
    assert large["supervise"]["mem_mb"] == without["supervise"]["mem_mb"]
    assert large["supervise"]["runtime"] > small["supervise"]["runtime"] > without["supervise"]["runtime"]


def test_the_training_rows_of_a_split_with_sizes_of_its_own_count(resources, root):
    setting = yaml.safe_load((root / "workflow" / "config" / "cifar10_talr.yaml").read_text())
    sizes = {
        split: resources.size(resources.settings.load(setting | {"splits": [split]})).affinities_mb
        for split in ("cifar10_s1", "cifar10_s2")
    }
    assert sizes == {"cifar10_s1": 8 * 0.05 * 5_000**2 / 2**20, "cifar10_s2": 8 * 0.05 * 50_000**2 / 2**20}


def test_a_users_own_data_are_measured_by_their_files(resources, tmp_path):
    import numpy as np

    np.save(tmp_path / "features.npy", np.zeros((50_000, 64), dtype=np.float32))
    np.save(tmp_path / "labels.npy", np.arange(50_000) % 7)
    setting = yaml.safe_load((resources.settings._SCHEMA.parents[1] / "config" / "arrays.yaml").read_text())
    setting["dataset_options"] |= {"features": str(tmp_path / "features.npy"), "labels": str(tmp_path / "labels.npy")}
    assert resources.size(resources.settings.load(setting)).matrix_mb >= 50_000 * 64 * 4 / 2**20

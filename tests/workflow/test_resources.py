"""What rules declare: for every rule that runs, growing with the dataset, in every shipped setting."""

import re

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


def test_a_users_own_data_are_measured_by_their_files(resources, tmp_path):
    import numpy as np

    np.save(tmp_path / "features.npy", np.zeros((50_000, 64), dtype=np.float32))
    np.save(tmp_path / "labels.npy", np.arange(50_000) % 7)
    setting = yaml.safe_load((resources.settings._SCHEMA.parents[1] / "config" / "arrays.yaml").read_text())
    setting["dataset_options"] |= {"features": str(tmp_path / "features.npy"), "labels": str(tmp_path / "labels.npy")}
    assert resources.size(resources.settings.load(setting)).matrix_mb >= 50_000 * 64 * 4 / 2**20

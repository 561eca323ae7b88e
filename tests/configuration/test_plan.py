"""The jobs of an experiment, and the files and parameters of each job, worked out by hand."""

import copy
import dataclasses
from pathlib import Path

import pytest
import yaml
from project import SMALL, Results

from protocol import configuration, registry
from protocol.checks import ProtocolError
from protocol.configuration import Plan
from protocol.provenance import derive
from protocol.shipped import configs
from protocol.splits import Drawn, SameAs, SplitProtocol

JOBS = yaml.safe_load(Path(__file__).with_name("jobs.yaml").read_text())


def planned(**changes):
    return Plan(configuration.load(copy.deepcopy(SMALL) | changes))


def shipped(name):
    return Plan(configuration.load(yaml.safe_load(configs()[name].read_text())))


@pytest.mark.parametrize("case", JOBS, ids=str)
def test_the_jobs_that_snakemake_plans_are_those_worked_out_by_hand(case, tmp_path):
    assert Results(tmp_path).planned(SMALL | case["changes"], *case["targets"]) == case["jobs"]


CODES = "<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5"


def test_files_agree_with_the_wildcards():
    plan = planned(features={"gist": {}, "sift": {"runs": 1, "splits": ["improved"], "hashers": ["lsh"]}})
    assert plan.each("{sample}/run{run}") == ["random/run0", "random/run1"]
    of_run = {"feature": "gist", "sample": "random", "run": "1"}
    assert plan.each("{split}/run{run}", of_run) == ["standard/run1", "improved/run1"]
    assert plan.file("<data>/{extraction}/features.h5", of_run) == "<data>/gist/features.h5"
    of_hasher = {"feature": "gist", "hasher": "itq"}
    assert plan.each("{sample}/run{run}", of_hasher) == ["random/run0", "random/run1"]  # of two splits
    assert plan.split_runs(of_hasher) == [("standard", 0), ("standard", 1), ("improved", 0), ("improved", 1)]
    assert plan.each_split("{split} {sample}", of_hasher) == ["standard random"] * 2 + ["improved random"] * 2
    assert plan.each(CODES, {"feature": "sift", "split": "improved"}) == ["<results>/sift/random/run0/lsh/codes.h5"]
    with pytest.raises(ProtocolError, match=r"^experiment 'small' has no job for feature sift, run 1\.$"):
        plan.file("{sample}", {"feature": "sift", "run": "1"})
    # Two splits with different samples: `examples` reads the codes of the sample of its split alone.
    plan = shipped("cifar10_s1")
    wildcards = {"feature": next(iter(plan.experiment.features)), "split": "cifar10_s1"}
    assert {path.split("/")[2] for path in plan.each(CODES, wildcards)} == {"cifar10_1k_5k"}
    assert plan.file("{sample}", {"split": "cifar10_s1", "run": "0"}) == "cifar10_1k_5k"


def test_features_with_other_options_have_another_folder():
    plan = planned(features={"gist": {}, "small_gist": {"base": "gist", "options": {"image_size": 16}}})
    first, second = (plan.file("{extraction}", {"feature": name}) for name in ("gist", "small_gist"))
    assert first == "gist"
    assert second.startswith("gist-")
    assert plan.extraction({"extraction": second})["options"]["image_size"] == 16
    assert plan.n_parts({"extraction": second}) == 1
    assert shipped("cifar10").n_parts({"extraction": "gist"}) > 1


@pytest.mark.parametrize(("truths", "measures"), [(["class_label"], False), (["class_label", "epsilon_ball"], True)])
def test_a_ground_truth_by_labels_measures_nothing(truths, measures):
    assert planned(ground_truths=truths).measures({"feature": "gist"}) is measures


def test_seeds_depend_on_what_is_drawn_and_on_nothing_else():
    plan, job = planned(), {"feature": "gist", "sample": "random", "run": "1", "hasher": "itq"}
    assert plan.sample_seed(job) == derive(0, "digits", "split", 1)
    assert plan.preprocessing_seed(job) == derive(0, "digits", "preprocess", "gist", 1)
    assert plan.ground_truth_seed(job) == derive(0, "digits", "groundtruth", "gist", 1)
    assert plan.model_seeds(job) == {n_bits: derive(0, "digits", "gist", "itq", n_bits, 1) for n_bits in (8, 16)}
    more = planned(n_bits=[8, 12, 16], hashers=["itq"], runs=5, splits=["standard"])
    assert more.model_seeds(job).items() > plan.model_seeds(job).items()


def test_the_sampled_split_has_the_options_of_any_protocol_in_use():
    options = {"unseen_at_unseen": {"unseen": 3}}
    plan = planned(splits=["unseen_at_unseen"], split_options=options, runs=1)
    for job in ({"sample": "unseen", "run": "0"}, {"split": "unseen_at_unseen", "run": "0"}):
        assert plan.split_options(job) == {"unseen": 3}


def test_a_sample_depends_on_what_is_declared_apart_from_the_database(monkeypatch):
    plan, job = planned(), {"split": "improved", "run": "0"}
    declared, protocol = plan.sample_declaration(job), registry.get("split", plan.split(job))
    assert plan.drawing_code(job) == ()
    database = dataclasses.replace(protocol, partitions={**protocol.partitions, "database": SameAs("train")})
    monkeypatch.setattr("protocol.registry.get", lambda kind, name: database)
    assert plan.sample_declaration(job) == declared
    train = dataclasses.replace(protocol, partitions={**protocol.partitions, "train": Drawn(size=7)})
    monkeypatch.setattr("protocol.registry.get", lambda kind, name: train)
    assert plan.sample_declaration(job) != declared
    own = type("Own", (SplitProtocol,), {})(protocol.partitions)
    monkeypatch.setattr("protocol.registry.get", lambda kind, name: own)
    assert plan.drawing_code(job) == (plan.split(job),)

"""The jobs of an experiment, and the files, parameters and resources of each job, worked out by hand."""

import copy

import pytest
import yaml
from project import SMALL, Results

from protocol import configuration
from protocol.checks import ProtocolError
from protocol.configuration import Plan
from protocol.provenance.seeds import derive
from protocol.shipped import configs


def planned(**changes):
    return Plan(configuration.load(copy.deepcopy(SMALL) | changes))


def shipped(root, name):
    return Plan(configuration.load(yaml.safe_load(configs()[name].read_text())))


SMALL_JOBS = {
    "dataset": 1,
    "feature": 1,
    "sample": 2,  # runs
    "split": 4,  # splits x runs
    "preprocessing": 2,
    "ground_truth": 2,
    "model": 4,  # runs x hashers
    "count": 2,  # hashers
    "score": 2,
    "examples": 2,
    "metrics": 1,
    "audit": 1,
    "claims": 1,
    "report": 1,
}
REPORT_ONLY = ("audit", "claims", "report")


@pytest.mark.parametrize(
    ("changes", "targets", "jobs"),
    [
        ({}, ["report"], SMALL_JOBS),
        ({}, ["paper"], {rule: n for rule, n in SMALL_JOBS.items() if rule not in REPORT_ONLY} | {"paper": 1}),
        (
            {"hasher_grids": {"itq": {"n_iter": [5, 10]}}},
            ["report", "paper"],
            SMALL_JOBS | {"selection": 2, "selection_table": 1, "paper": 1},
        ),
        (
            {"count_shards": 3, "metrics": ["mAP"]},
            ["metrics"],
            {
                **{rule: n for rule, n in SMALL_JOBS.items() if rule not in (*REPORT_ONLY, "examples", "count")},
                "count_shard": 3 * 4,
                "add_counts": 2,
            },
        ),
        (
            {"features": {"gist": {}, "pixels": {"runs": 3, "hashers": ["lsh"], "splits": ["standard"]}}},
            ["report"],
            SMALL_JOBS
            | {"feature": 2, "sample": 3, "split": 2 + 3, "preprocessing": 2 + 3, "ground_truth": 2 + 3}
            | {"model": 4 + 3, "count": 2 + 1, "score": 2 + 1, "examples": 2 + 1},
        ),
    ],
)
def test_the_jobs_that_snakemake_plans_are_those_worked_out_by_hand(changes, targets, jobs, tmp_path):
    assert Results(tmp_path).planned(SMALL | changes, *targets) == jobs


CODES = "<results>/{feature}/{sample}/run{run}/{hasher}/codes.h5"


def test_files_agree_with_the_wildcards(root):
    plan = planned(features={"gist": {}, "sift": {"runs": 1, "splits": ["improved"], "hashers": ["lsh"]}})
    assert plan.each("{sample}/run{run}") == ["thesis/run0", "thesis/run1"]
    assert plan.keys("feature", "hasher") == [("gist", "lsh"), ("gist", "itq"), ("sift", "lsh")]
    of_run = plan.job({"feature": "gist", "sample": "thesis", "run": "1"})
    assert of_run.files("<results>/splits/{split}/run{run}/splits.h5") == [
        "<results>/splits/standard/run1/splits.h5",
        "<results>/splits/improved/run1/splits.h5",
    ]
    of_hasher = plan.job({"feature": "gist", "hasher": "itq"})
    assert of_hasher.keys("sample", "run") == [("thesis", 0), ("thesis", 1)]  # of two splits
    assert of_hasher.keys("split", "run") == [("standard", 0), ("standard", 1), ("improved", 0), ("improved", 1)]
    assert of_hasher.of_combinations("{split} {sample}") == ["standard thesis"] * 2 + ["improved thesis"] * 2
    assert of_run.file("<data>/{extraction}/features.h5") == "<data>/gist/features.h5"
    assert plan.job({"feature": "sift", "split": "improved"}).files(CODES) == [
        "<results>/sift/thesis/run0/lsh/codes.h5"
    ]
    with pytest.raises(ProtocolError, match=r"^experiment 'small' has no job for feature sift, run 1\.$"):
        plan.job({"feature": "sift", "run": "1"}).file("{sample}")
    # Two splits with different samples: `examples` reads the codes of the sample of its split alone.
    plan = shipped(root, "cifar10_s1")
    wildcards = {"feature": next(iter(plan.experiment.features)), "split": "cifar10_s1"}
    assert {path.split("/")[2] for path in plan.job(wildcards).files(CODES)} == {"cifar10_1k_5k"}
    assert plan.job({"split": "cifar10_s1", "run": "0"}).file("{sample}") == "cifar10_1k_5k"


def test_features_with_other_options_have_another_folder(root):
    plan = planned(features={"gist": {}, "small_gist": {"base": "gist", "options": {"image_size": 16}}})
    first, second = (plan.job({"feature": name}).file("{extraction}") for name in ("gist", "small_gist"))
    assert first == "gist"
    assert second.startswith("gist-")
    extraction = plan.job({"extraction": second})
    assert (extraction.feature.name, extraction.feature.options["image_size"]) == ("small_gist", 16)
    assert (extraction.n_parts, extraction.parts) == (1, [])
    large = shipped(root, "cifar10").job({"extraction": "gist"})
    assert large.n_parts > 1
    assert large.parts == [f"<data>/gist/parts/{part}.h5" for part in range(large.n_parts)]


def test_seeds_depend_on_what_is_drawn_and_on_nothing_else():
    plan = planned()
    job = plan.job({"feature": "gist", "sample": "thesis", "run": "1", "hasher": "itq"})
    assert job.sample_seed == derive(0, "digits", "split", 1)
    assert job.preprocessing_seed == derive(0, "digits", "preprocess", "gist", 1)
    assert job.ground_truth_seed == derive(0, "digits", "groundtruth", "gist", 1)
    assert job.model_seeds == {n_bits: derive(0, "digits", "gist", "itq", n_bits, 1) for n_bits in (8, 16)}
    more = planned(n_bits=[8, 12, 16], hashers=["itq"], runs=5, splits=["standard"]).job(job.wildcards)
    assert more.model_seeds.items() > job.model_seeds.items()


def test_a_hasher_reads_its_supervision_and_its_selection():
    grid = {"itq": {"n_iter": [5, 10]}}
    plan = planned(hashers=["lsh", "itq", "ksh"], hasher_grids=grid, affinities="graded_distance")
    place = {"feature": "gist", "sample": "thesis", "run": "0"}
    job = {name: plan.job(place | {"hasher": name}) for name in ("itq", "ksh")}
    assert job["itq"].selection_file == {"selection": "<results>/gist/thesis/run0/itq/selection.h5"}
    assert (job["itq"].supervision_file, job["ksh"].selection_file) == ({}, {})
    assert job["ksh"].supervision_file == {"supervision": "<results>/gist/thesis/run0/affinities.h5"}
    assert (job["itq"].hasher.grid, "n_iter" in job["itq"].hasher.options) == (grid["itq"], False)
    assert job["itq"].criterion == {"ground_truth": "class_label", "metric": "mAP", "undefined": "zero"}
    assert job["itq"].selecting.plugin == "class_label"
    assert plan.job({"supervision": "affinities"}).supervising.plugin == "graded_distance"
    assert plan.supervised("{supervision} {run}") == ["affinities 0", "affinities 1"]
    assert plan.selection_table == ["<results>/selection.csv"]


def test_only_split_protocols_with_lists_read_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in {"query": range(50), "train": range(50, 400), "database": range(50, 1797)}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(map(str, rows)))
    lists = {name: f"{name}.txt" for name in ("query", "train", "database")}
    plan = planned(splits=["from_lists", "improved"], split_options={"from_lists": lists}, runs=1)
    listed = plan.job({"sample": "from_lists", "run": "0"})
    assert [str(path) for path in listed.list_files] == list(lists.values())
    assert listed.split_options.items() >= lists.items()
    assert plan.job({"split": "from_lists", "run": "0"}).list_files == listed.list_files
    drawn = plan.job({"sample": "thesis", "run": "0"})
    assert (drawn.list_files, drawn.split_options) == ([], {})
    assert drawn.sample_sizes == SMALL["split_sizes"]


def test_counting():
    job = planned(count_shards=3, metrics=["mAP"], extension_bits=[1, 8]).job(
        {"feature": "gist", "scatteritem": "3-of-3"}
    )
    assert job.shard == 2
    assert job.extensions == [("none", 0), ("same", 1), ("same", 8), ("different", 1), ("different", 8)]
    assert job.extended_hasher == "lsh"
    assert planned(hashers=["sh", "itq"]).job({"feature": "gist"}).extended_hasher == "sh"
    plan = planned(count_shards=3, metrics=["mAP"])
    assert sum(path.endswith("count_shard.tsv") for path in plan.times) == 3 * 4  # models
    assert sum(path.endswith("add_counts.tsv") for path in plan.times) == 2  # hashers
    shards = plan.job({"feature": "gist", "hasher": "itq"}).shards
    assert len(shards) == 3 * 4  # of each run of both splits, which share a sampled split
    assert shards[:4:3] == [f"<results>/gist/thesis/run{run}/itq/shards/1-of-3.h5" for run in (0, 1)]


def test_the_leak_study(root):
    plan = shipped(root, "digits_leak")
    job = plan.job({"feature": "gist", "run": "2", "hasher": "itq"})
    sizes, n_bits = plan.config["leak"]["train_per_class"], job.feature.n_bits
    assert list(job.leak_model_seeds) == [(size, bits) for size in sizes for bits in n_bits]
    assert job.leak_model_seeds[sizes[0], n_bits[0]] == {
        side: derive(0, "digits", "gist", "itq", n_bits[0], 2, side, sizes[0]) for side in ("a", "b")
    }
    assert job.leak_seed == derive(0, "digits", "leak", 2)


def test_the_report_reads_what_the_experiment_has():
    plan = planned()
    assert plan.tables[:4] == [
        f"<results>/{name}" for name in ("metrics.csv", "summary.csv", "audit.csv", "claims.json")
    ]
    assert (plan.selection_table, plan.duplicates, planned(reproduction=False).claims) == ([], [], [])
    assert plan.examples[:2] == [f"<results>/gist/examples/{split}/radii.csv" for split in ("standard", "improved")]
    assert len(plan.examples) == 7 * 2
    assert plan.options_of_scores == {
        f"gist {truth} {split}": "" for truth in SMALL["ground_truths"] for split in SMALL["splits"]
    }
    assert plan.supervision_of_methods == {"gist lsh": "none", "gist itq": "none"}


def test_a_job_needs_what_its_feature_needs():
    plan = planned(features={"gist": {}, "pixels": {}})
    job = plan.job({"feature": "pixels", "sample": "thesis", "run": "0", "hasher": "lsh"})
    assert job.need("model", 2) == configuration.need(plan.experiment, "model", feature="pixels", attempt=2)
    assert plan.job({}).need("audit", 1) == configuration.need(plan.experiment, "audit")

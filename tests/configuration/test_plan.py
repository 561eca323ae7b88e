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


def jobs(targets=("report",), **changes):
    return planned(**changes).jobs(targets)


def test_splits_of_one_draw_share_everything_but_the_split():
    assert jobs() == {
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


def test_each_shard_is_counted_in_a_separate_job():
    found, at_once = jobs(count_shards=3, metrics=["mAP"]), jobs()
    assert (found["count_shard"], found["add_counts"]) == (3 * at_once["model"], at_once["count"])
    assert set(found) ^ set(at_once) == {"count", "count_shard", "add_counts"}


def test_features_share_draws_and_splits():
    found = jobs(features={"gist": {}, "sift": {"runs": 3, "hashers": ["lsh"], "splits": ["standard"]}})
    assert (found["sample"], found["split"]) == (3, 2 + 3)
    assert (found["preprocessing"], found["model"], found["score"], found["examples"]) == (2 + 3, 4 + 3, 2 + 1, 2 + 1)


def test_selection_and_supervision():
    found = jobs(hashers=["lsh", "itq", "talr_ap", "talr_ndcg"], hasher_grids={"itq": {"n_iter": [5, 10]}})
    assert (found["supervision"], found["selection"], found["selection_table"]) == (2 * 2, 2, 1)


def test_targets(root):
    assert "claims" not in jobs(reproduction=False)
    assert "paper" not in jobs()
    assert jobs(("report", "paper"))["paper"] == 1
    assert "leak" not in jobs(("report", "leak"))  # without the key
    plan = shipped(root, "digits_leak")
    feature, found = plan.experiment.features["gist"], plan.jobs(("leak",))
    assert set(found) == {
        "dataset",
        "feature",
        "leak_split",
        "leak_preprocessing",
        "leak_ground_truth",
        "leak_score",
        "leak",
    }
    assert found["leak_score"] == feature.runs * len(feature.hashers)


def test_figures_for_a_paper_need_no_audit_no_claims_and_no_table_of_choices(root):
    grid = {"hashers": ["lsh", "itq"], "hasher_grids": {"itq": {"n_iter": [5, 10]}}}
    page, paper = jobs(**grid), jobs(("paper",), **grid)
    assert set(page) - set(paper) == {"selection_table", "audit", "claims", "report"}
    assert set(paper) - set(page) == {"paper"}
    assert all(paper[rule] == page[rule] for rule in set(page) & set(paper))
    assert not {"score_without", "duplicates"} & set(shipped(root, "cifar10_duplicates").jobs(("paper",)))


@pytest.mark.parametrize("targets", [("report",), ("paper",), ("report", "paper")])
def test_the_jobs_of_a_target_are_those_that_snakemake_plans(targets, tmp_path):
    grid = {"hasher_grids": {"itq": {"n_iter": [5, 10]}}}
    assert Results(tmp_path).planned(SMALL | grid, *targets) == jobs(targets, **grid)


def test_downloads_are_the_files_of_the_dataset(root):
    assert shipped(root, "cifar10").jobs()["download"] == 1


def test_scores_without_near_duplicates_need_judged_pairs(root):
    found = shipped(root, "cifar10_duplicates").jobs()
    assert (found["score_without"], found["duplicates"]) == (found["score"], 1) == (8, 1)
    assert not {"score_without", "duplicates"} & set(jobs())


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


def test_features_with_other_options_have_another_folder():
    plan = planned(features={"gist": {}, "small_gist": {"base": "gist", "options": {"image_size": 16}}})
    first, second = (plan.job({"feature": name}).file("{extraction}") for name in ("gist", "small_gist"))
    assert first == "gist"
    assert second.startswith("gist-")
    extraction = plan.job({"extraction": second})
    assert (extraction.feature.name, extraction.feature.options["image_size"]) == ("small_gist", 16)
    assert (extraction.n_parts, extraction.parts) == (1, [])


def test_large_extractions_are_divided(root):
    job = shipped(root, "cifar10").job({"extraction": "gist"})
    assert job.parts == [f"<data>/gist/parts/{part}.h5" for part in range(job.n_parts)]
    assert job.n_parts > 1


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
    assert job["itq"].criterion == {"ground_truth": "class_label", "metric": "mAP", "empty": "zero"}
    assert job["itq"].selecting.plugin == "class_label"
    assert plan.job({"supervision": "affinities"}).supervising.plugin == "graded_distance"
    assert plan.supervised("{supervision} {run}") == ["affinities 0", "affinities 1"]
    assert plan.selection_table == ["<results>/selection.csv"]
    with pytest.raises(
        ProtocolError,
        match=r"^experiment 'small' has no options to select\. Add the key `hasher_grids`, as in .*nested",
    ):
        _ = planned().required_selection_table


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
    assert sum(path.endswith("count_shard.tsv") for path in plan.times) == 3 * plan.jobs()["model"]
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
    assert set(job.leak_sizes) == set(plan.config["leak"]) - {"controls"}
    with pytest.raises(
        ProtocolError, match=r"^experiment 'small' has no leak study\. Add the key `leak`, as in .*leak"
    ):
        _ = planned().leak_study


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
    assert set(plan.config) - set(plan.reported_config) == {"mirror", "offline", "count_shards", "paper"}


def test_a_job_needs_what_its_feature_and_hasher_need():
    plan = planned(features={"gist": {}, "pixels": {}}, hashers=["lsh", "itq"])
    wildcards = {"feature": "pixels", "sample": "thesis", "run": "0", "hasher": "lsh"}
    expected = configuration.need(plan.experiment, "model", feature="pixels", hasher="lsh", attempt=2)
    assert plan.job(wildcards).need("model", 2) == expected
    assert plan.job({"extraction": "gist"}).need("feature", 1) == configuration.need(
        plan.experiment, "feature", feature="gist"
    )
    assert plan.job({}).need("audit", 1) == configuration.need(plan.experiment, "audit")

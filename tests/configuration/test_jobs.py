"""The numbers of jobs, computed by hand."""

import copy

import pytest
import yaml
from project import SMALL, Project

from protocol import configuration


def jobs(targets=("report",), **changes):
    return configuration.jobs(configuration.load(copy.deepcopy(SMALL) | changes), targets)


def test_splits_of_one_draw_share_everything_but_the_split():
    assert jobs() == {
        "dataset": 1,
        "feature": 1,
        "draw": 2,  # runs
        "split": 4,  # splits x runs
        "preprocessing": 2,
        "ground_truth": 2,
        "model": 4,  # runs x hashers
        "count": 4,
        "score": 2,
        "display": 2,
        "metrics": 1,
        "audit": 1,
        "claims": 1,
        "report": 1,
    }


def test_each_shard_is_counted_in_a_separate_job():
    found, at_once = jobs(count_shards=3, metrics=["mAP"]), jobs()
    assert (found["count_shard"], found["add_counts"]) == (3 * at_once["count"], at_once["count"])
    assert set(found) ^ set(at_once) == {"count", "count_shard", "add_counts"}


def test_features_share_draws_and_splits():
    found = jobs(features={"gist": {}, "sift": {"runs": 3, "hashers": ["lsh"], "splits": ["standard"]}})
    assert (found["draw"], found["split"]) == (3, 2 + 3)
    assert (found["preprocessing"], found["model"], found["score"], found["display"]) == (2 + 3, 4 + 3, 2 + 1, 2 + 1)


def test_selection_and_supervision():
    found = jobs(hashers=["lsh", "itq", "talr_ap", "talr_ndcg"], hasher_grids={"itq": {"n_iter": [5, 10]}})
    assert (found["supervision"], found["selection"], found["selection_table"]) == (2 * 2, 2, 1)


def test_targets(root):
    assert "claims" not in jobs(reproduction=False)
    assert "paper" not in jobs()
    assert jobs(("report", "paper"))["paper"] == 1
    assert "leak" not in jobs(("report", "leak"))  # without the key
    experiment = configuration.load(yaml.safe_load((root / "workflow" / "config" / "digits_leak.yaml").read_text()))
    feature = experiment.features["gist"]
    found = configuration.jobs(experiment, ("leak",))
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
    path = root / "workflow" / "config" / "cifar10_duplicates.yaml"
    found = configuration.jobs(configuration.load(yaml.safe_load(path.read_text())), ("paper",))
    assert not {"score_without", "duplicates"} & set(found)


@pytest.mark.workflow
@pytest.mark.parametrize("targets", [("report",), ("paper",), ("report", "paper")])
def test_the_jobs_of_a_target_are_those_that_snakemake_plans(targets, tmp_path, root):
    project, grid = Project(tmp_path, root), {"hasher_grids": {"itq": {"n_iter": [5, 10]}}}
    project.write(SMALL | grid)
    assert project.jobs(*targets) == jobs(targets, **grid)


def test_downloads_are_the_files_of_the_dataset(root):
    experiment = configuration.load(yaml.safe_load((root / "workflow" / "config" / "cifar10.yaml").read_text()))
    assert configuration.jobs(experiment)["download"] == 1


def test_scores_without_near_duplicates_need_judged_pairs(root):
    experiment = configuration.load(
        yaml.safe_load((root / "workflow" / "config" / "cifar10_duplicates.yaml").read_text())
    )
    found = configuration.jobs(experiment)
    assert (found["score_without"], found["duplicates"]) == (found["score"], 1) == (8, 1)
    assert not {"score_without", "duplicates"} & set(jobs())

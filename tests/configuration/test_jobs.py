"""The numbers of jobs, computed by hand."""

import copy

import yaml
from project import SMALL

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

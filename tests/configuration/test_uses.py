"""Plug-ins that an experiment uses several times under different names."""

import copy
import json

import pytest
from project import SMALL

from protocol import configuration
from protocol.configuration import Use

ITQ_5 = {"name": "itq_5", "use": "itq", "options": {"n_iter": 5}}


def load(**changes):
    return configuration.load(copy.deepcopy(SMALL) | changes)


def test_a_hasher_twice():
    experiment = load(hashers=["lsh", "itq", ITQ_5])
    assert experiment.features["gist"].hashers == ["lsh", "itq", "itq_5"]
    assert experiment.hashers == {
        "lsh": Use("lsh", "lsh", {}),
        "itq": Use("itq", "itq", {"n_iter": 50}),
        "itq_5": Use("itq_5", "itq", {"n_iter": 5}),
    }
    assert experiment.config["hashers"] == ["lsh", "itq", "itq_5"]
    assert experiment.config["hasher_uses"] == {"itq_5": "itq"}
    assert experiment.config["hasher_options"] == {"itq": {"n_iter": 50}, "itq_5": {"n_iter": 5}, "lsh": {}}


def test_a_ground_truth_twice():
    near = {"name": "near", "use": "epsilon_ball", "options": {"n_neighbours": 20}}
    experiment = load(ground_truths=["class_label", "epsilon_ball", near])
    assert experiment.features["gist"].ground_truths == ["class_label", "epsilon_ball", "near"]
    assert experiment.ground_truths["near"].plugin == "epsilon_ball"
    assert experiment.ground_truths["near"].options["n_neighbours"] == 20
    assert experiment.ground_truths["epsilon_ball"].options["n_neighbours"] == 50


def test_a_feature_twice():
    experiment = load(features={"gist": {}, "gist_small": {"use": "gist", "options": {"grid": 2}}})
    plan = experiment.features["gist_small"]
    assert (plan.name, plan.plugin, plan.options["grid"]) == ("gist_small", "gist", 2)
    assert [experiment.dimensions(name) for name in experiment.features] == [[512], [128]]
    assert experiment.config["features"]["gist"]["use"] == "gist"


def test_a_name_means_the_same_in_every_list():
    experiment = load(
        hashers=["lsh", ITQ_5],
        features={"gist": {}, "sift": {"hashers": ["itq_5"]}},
        hasher_options={"itq": {"n_iter": 7}},
    )
    assert experiment.features["sift"].hashers == ["itq_5"]
    assert experiment.hashers["itq_5"].options == {"n_iter": 5}
    assert experiment.hashers["itq"].options == {"n_iter": 7}


def test_the_default_name_is_that_of_the_plug_in():
    inline = {"use": "itq", "options": {"n_iter": 5}}
    experiment = load(hashers=["lsh", inline], features={"gist": {}, "sift": {"hashers": ["itq"]}})
    assert experiment.hashers["itq"] == Use("itq", "itq", {"n_iter": 5})
    assert experiment.features["sift"].hashers == ["itq"]
    assert experiment.config["hasher_uses"] == {}


def test_options_and_grids_refer_to_the_name():
    named = {"name": "spherical", "use": "sph", "options": {"max_iter": 50}}
    experiment = load(
        hashers=["lsh", named],
        hasher_options={"spherical": {"epsilon_std": 0.2}},
        hasher_grids={"spherical": {"epsilon_mean": [0.1, 0.2]}},
    )
    use = experiment.hashers["spherical"]
    assert use.options == {"epsilon_std": 0.2, "max_iter": 50}
    assert use.grid == {"epsilon_mean": [0.1, 0.2]}
    assert experiment.config["hasher_grids"] == {"spherical": {"epsilon_mean": [0.1, 0.2]}}


def test_graded_affinities_may_come_from_a_named_ground_truth():
    named = {"name": "coarse", "use": "graded_distance", "options": {"percentiles": [10, 1], "levels": [1, 2]}}
    experiment = load(hashers=["talr_ndcg"], ground_truths=["class_label", named], affinities="coarse")
    assert experiment.supervising() == {"labels": "class_label", "affinities": "coarse"}
    assert experiment.ground_truths["coarse"].options["levels"] == [1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"hashers": ["lsh", "itq", ITQ_5]},
        {"hashers": [{"use": "itq", "options": {"n_iter": 5}}], "hasher_grids": {"dsh": {"alpha": [1, 2]}}},
        {"features": {"one": {"use": "gist"}, "two": {"use": "gist", "runs": 1, "n_bits": [32, 8]}}},
        {"hashers": ["sph"], "hasher_grids": {"sph": {"epsilon_mean": [0.1, 0.2]}}, "metrics": ["all"]},
        {"hashers": ["talr_ndcg"]},
    ],
)
def test_the_configuration_of_an_experiment_describes_the_same_experiment(changes):
    experiment = load(**changes)
    text = json.dumps(experiment.config)
    again = configuration.load(json.loads(text))
    assert again == experiment
    assert json.dumps(again.config) == text


def test_options_that_are_not_the_defaults_identify_a_score():
    place = ("gist", "epsilon_ball", "improved")
    usual = load(ground_truths=["class_label", "epsilon_ball"], features={"gist": {}})
    assert usual.options(*place) == {}
    near = {"name": "epsilon_ball", "use": "epsilon_ball", "options": {"n_neighbours": 20}}
    assert load(ground_truths=[near], features={"gist": {}}).options(*place).keys() == {"ground_truth"}
    for feature in ({"preprocessing": []}, {"use": "gist", "options": {"image_size": 16}}):
        other = load(ground_truths=["class_label", "epsilon_ball"], features={"gist": feature})
        assert other.options(*place).keys() == {"ground_truth"}
        assert other.options("gist", "class_label", "improved") == {}

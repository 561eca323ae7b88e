"""What a paper shows of an experiment: the defaults, the user's choice, and what is refused."""

import pytest

from protocol.checks import ProtocolError
from protocol.configuration import load


def paper(**changes):
    return load(changes, from_file=False).config["paper"]


def test_the_default_is_the_first_of_everything_at_all_code_lengths():
    assert paper() == {
        "metrics": ["mAP", "precision@r2"],
        "n_bits": [8, 16, 32, 64],
        "features": ["gist"],
        "ground_truths": ["class_label"],
        "splits": ["standard"],
    }


def test_without_map_the_first_metric_leads():
    assert paper(metrics=["nDCG", "recall@r2"])["metrics"] == ["nDCG"]
    assert paper(metrics=["precision@r2"])["metrics"] == ["precision@r2"]


def test_the_user_chooses():
    chosen = {"metrics": ["mAP@100[all]"], "n_bits": [32, 16], "ground_truths": ["epsilon_ball", "class_label"]}
    assert paper(paper=chosen) == paper() | chosen | {"n_bits": [16, 32]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ["map"]}, "paper.metrics: expected .* got 'map'. Did you mean 'mAP'?"),
        ({"n_bits": [12]}, "paper.n_bits: expected .* got '12'"),
        ({"ground_truths": ["nearest_neighbours"]}, "paper.ground_truths: expected class_label or epsilon_ball, got"),
        ({"features": ["gits"]}, "paper.features: expected bow, gist or sift, got 'gits'. Did you mean 'gist'?"),
        ({"splits": []}, "paper.splits: expected a non-empty list of names, got \\[\\]"),
        ({"metric": ["mAP"]}, "key in paper: expected .* got 'metric'. Did you mean 'metrics'?"),
    ],
)
def test_what_the_experiment_lacks_is_refused(changes, message):
    with pytest.raises(ProtocolError, match=message):
        paper(paper=changes)


def test_a_choice_that_never_occurs_together_is_refused():
    features = {"gist": {"splits": ["standard"]}, "bow": {"splits": ["improved"]}}
    with pytest.raises(
        ProtocolError, match="paper: expected a feature, a ground truth and a split that occur together"
    ):
        paper(features=features, paper={"features": ["bow"], "splits": ["standard"]})

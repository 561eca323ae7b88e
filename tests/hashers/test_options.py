"""Options out of range are refused before there is data, by their name."""

import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError

WRONG = {
    "bre": {"n_anchors": 0, "width": 0, "n_labelled": 1, "anchors_per_bit": 0, "n_pairs": 0, "n_iter": 0},
    "buffer_zone": {"margin": 0},
    "cca_itq": {"n_iter": 0},
    "classifier": {"code": "classes", "regularisation": 0, "temperature": 0},
    "csq": {"lambda_1": -1},
    "cvh": {"regularisation": 0},
    "deep_squared": {
        "network": "cnn",
        "epochs": 0,
        "batch_size": 2,
        "learning_rate": 0,
        "weight_decay": -1,
        "patience": 0,
        "precision": "float16",
    },
    "dpsh": {"quantisation": -1},
    "dsh": {"alpha": np.nan, "n_neighbors": 0, "n_iter": 0},
    "dtsh": {"margin": -1, "quantisation": -1},
    "fasthash": {"n_trees": 0, "depth": 0, "features_per_bit": 0, "shrinkage": 0},
    "grh": {"start": "pca", "alpha": 1.1, "n_iter": 0, "regularisation": 0},
    "hashnet": {"alpha": 0, "beta": "7"},
    "itq": {"n_iter": 2.5},
    "ksh": {"n_anchors": 0, "width": 0, "n_labelled": 1, "n_iter": 0},
    "m_dsh": {"margin": 4.5},
    "mihash": {"bin_width": 0, "slope": 0},
    "sdh": {"n_anchors": 0, "width": -1, "regularisation": 0, "nu": -1, "n_iter": 0},
    "sklsh": {"gamma": np.inf},
    "sph": {"max_iter": 0, "epsilon_mean": 0, "epsilon_std": -1},
    "talr_ap": {
        "relaxation": "exact",
        "alpha": 0,
        "growth": 0,
        "n_steps": 0,
        "batch_size": 1,
        "learning_rate": 0,
        "n_components": 0,
        "start": "zero",
        "rate_over_alpha": 1,
    },
    "talr_ap_network": {"relaxation": "exact", "alpha": 0},
}
ALLOWED = [("csq", "lambda_1"), ("dpsh", "quantisation"), ("dtsh", "margin"), ("dtsh", "quantisation"), ("sdh", "nu")]


@pytest.mark.parametrize(("name", "option", "value"), [(name, *pair) for name in WRONG for pair in WRONG[name].items()])
def test_an_option_out_of_range_is_refused_by_its_name(name, option, value):
    with pytest.raises(ProtocolError, match=f"^{option}: expected .*, got {value!r}".replace("nan", "")):
        registry.get("hasher", name)(8, **{option: value}).check()


@pytest.mark.parametrize(("name", "option"), ALLOWED)
def test_a_weight_may_be_zero(name, option):
    registry.get("hasher", name)(8, **{option: 0}).check()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dsh", {"n_bits": 1, "alpha": 0.5}, "the number of clusters: expected an integer >= 2, got 1"),
        ("hashnet", {"beta": 0.5}, "beta: expected a number >= 1, got 0.5"),
        ("cvh", {"n_anchors": 31}, "n_anchors: expected at least n_bits = 32, got 31[.]$"),
        ("buffer_zone", {"zones": []}, r"zones: expected a list of pairs \[r_1, r_2\], got \[\]"),
        ("buffer_zone", {"zones": "wide"}, "zones: expected a list of pairs .*, got 'wide'"),
        ("buffer_zone", {"zones": [0.1, 0.2]}, "zones: expected pairs .* with 0 <= r_1 <= r_2, got 0.1"),
        ("buffer_zone", {"zones": [[0.2, 0.1]]}, r"zones: expected pairs .* got \[0.2, 0.1\]"),
        ("buffer_zone", {"zones": [[0, float("nan")]]}, r"zones: expected pairs .* got \[0, nan\]"),
        ("buffer_zone", {"zones": [["a", "b"]]}, r"zones: expected pairs .* got \['a', 'b'\]"),
    ],
)
def test_options_that_do_not_fit_are_refused(name, options, message):
    with pytest.raises(ProtocolError, match=message):
        registry.get("hasher", name)(**options).check()

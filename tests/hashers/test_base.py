"""What all hashers share, and options out of range, which are refused before there is data, by their name."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from encoded import refuses

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers.dsh import DSH
from protocol.hashers.itq import ITQ
from protocol.hashers.lsh import LSH
from protocol.hashers.median import Median
from protocol.hashers.pcah import PCAH
from protocol.hashers.sh import SH

X = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)


def test_options_are_inherited():
    class Wide(LSH):
        width: float = 1.5

    Inherits = type("Inherits", (Wide,), {})
    assert Inherits(8, width=2).get_params() == {"n_bits": 8, "seed": 0, "width": 2}
    assert Inherits(8).set_params(width=3).fit(X).transform(X).shape == (20, 8)


def test_an_unknown_parameter_is_refused_and_nothing_is_set():
    hasher = ITQ(16)
    refuses(r"Unknown option 'bits' of ITQ: choose n_bits, n_iter or seed", hasher.set_params, n_iter=9, bits=8)
    assert hasher.n_iter == 50


@pytest.mark.parametrize("hasher", [DSH(8), ITQ(4), Median(4), PCAH(4), SH(4)], ids=repr)
def test_an_offset_does_not_matter(hasher):
    rows = np.random.default_rng(0).integers(-8, 8, size=(51, 6)).astype(np.float32)
    codes = hasher.fit(rows).transform(rows)
    np.testing.assert_array_equal(hasher.fit(rows + 64).transform(rows + 64), codes)


@pytest.mark.parametrize(
    "same", [lambda X: np.asfortranarray(X, dtype=np.float64), lambda X: np.repeat(X, 2, axis=0)[::2]]
)
def test_type_and_memory_layout_do_not_matter(same):
    X = np.random.default_rng(0).normal(size=(777, 131)).astype(np.float32)
    hasher, other = ITQ(24).fit(X), ITQ(24).fit(same(X))
    assert other.projection_.tobytes() == hasher.projection_.tobytes()
    np.testing.assert_array_equal(hasher.transform(same(X)), hasher.transform(X))


def test_lengths_that_are_no_parameter_agree_among_the_arrays():
    arrays = SH(9).fit(X).to_arrays()  # 6 components
    with pytest.raises(ProtocolError, match=r"array 'lowest_': expected float64 of shape \(6,\), got .* \(5,\)"):
        SH.from_arrays(arrays | {"lowest_": arrays["lowest_"][:5]})


WRONG, TOGETHER = yaml.safe_load_all(Path(__file__).with_name("wrong_options.yaml").read_text())
ALLOWED = [("csq", "lambda_1"), ("dpsh", "quantisation"), ("dtsh", "margin"), ("dtsh", "quantisation"), ("sdh", "nu")]


@pytest.mark.parametrize(("name", "option", "value"), [(name, *pair) for name in WRONG for pair in WRONG[name].items()])
def test_an_option_out_of_range_is_refused_by_its_name(name, option, value):
    with pytest.raises(ProtocolError, match=f"^{option}(: expected| must be) .*, got {value!r}".replace("nan", "")):
        registry.get("hasher", name)(8, **{option: value}).check()


@pytest.mark.parametrize(("name", "option"), ALLOWED)
def test_a_weight_may_be_zero(name, option):
    registry.get("hasher", name)(8, **{option: 0}).check()


@pytest.mark.parametrize(("name", "options", "message"), TOGETHER)
def test_options_that_do_not_fit_are_refused(name, options, message):
    refuses(message, registry.get("hasher", name)(**options).check)

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.features import Feature, Preprocessing
from protocol.features.bow import BagOfWords


class Plain(Feature):
    """Three numbers, unchanged."""

    dimension = 3

    def _describer(self, images):
        pytest.fail("preprocessing looked at images again")


RAW = np.array([[3, 0, 4], [0, 2, 0], [0, 0, 0], [6, 0, 8]], dtype=np.float32)


def made(*steps, raw_train=RAW[:2]):
    return Preprocessing.fit(Plain(), raw_train, steps, seed=0)


def test_no_steps_change_nothing():
    vectors = made().transform(RAW)
    np.testing.assert_array_equal(vectors, RAW)
    assert not np.shares_memory(vectors, RAW)


@pytest.mark.parametrize("scale", [1e-30, 1, 1e30])
def test_l2_gives_unit_length_and_leaves_zero_rows(scale):
    expected = [[0.6, 0, 0.8], [0, 1, 0], [0, 0, 0], [0.6, 0, 0.8]]
    np.testing.assert_allclose(made("l2").transform(RAW * np.float32(scale)), expected, rtol=1e-6)


def test_the_mean_is_that_of_the_training_rows_only():
    centre = made("centre")
    assert (centre.mean.dtype, centre.mean.tolist()) == (np.float64, [1.5, 1, 2])
    np.testing.assert_allclose(centre.transform(RAW[:2]).mean(axis=0), 0, atol=1e-7)
    np.testing.assert_array_equal(centre.transform(RAW[3:]), [[4.5, -1, 6]])


def test_the_grand_mean_is_one_number_and_preserves_differences_between_dimensions():
    fitted = made("grand_mean")
    assert fitted.mean.tolist() == [1.5, 1.5, 1.5]  # of 3, 0, 4, 0, 2 and 0, the training rows' values
    np.testing.assert_array_equal(fitted.transform(RAW), RAW - np.float32(1.5))
    unit = made("l2", "grand_mean")
    np.testing.assert_allclose(unit.mean, (0.6 + 0.8 + 1) / 6, rtol=1e-6)
    np.testing.assert_allclose(unit.transform(RAW[3:]), np.array([[0.6, 0, 0.8]]) - 0.4, rtol=1e-6)
    arrays = unit.to_arrays()
    again = Preprocessing.from_arrays(Plain(), ("l2", "grand_mean"), arrays)
    np.testing.assert_array_equal(again.transform(RAW), unit.transform(RAW))


def test_the_order_of_the_steps_matters():
    np.testing.assert_allclose(made("l2", "centre").mean, [0.3, 0.5, 0.4], rtol=1e-6)
    centred = made("centre", "l2")
    assert centred.mean.tolist() == [1.5, 1, 2]
    np.testing.assert_allclose(np.linalg.norm(centred.transform(RAW), axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("block", [1, 3, 4, 100])
def test_the_result_does_not_depend_on_the_blocks(block):
    fitted = made("l2", "centre")
    parts = list(fitted.blocks(RAW, block=block))
    assert [len(rows) for rows in parts] == [min(block, 4 - start) for start in range(0, 4, block)]
    np.testing.assert_array_equal(np.concatenate(parts), fitted.transform(RAW))
    np.testing.assert_array_equal(fitted.transform(RAW, block=block), fitted.transform(RAW))


def test_learned_values_are_restored_from_arrays():
    raw = np.random.default_rng(0).integers(0, 256, (30, 4, 128), dtype=np.uint8)
    bow = BagOfWords(n_words=6, n_sample=100)
    before = Preprocessing.fit(bow, raw[:20], ("centre",), seed=5)
    arrays = before.to_arrays()
    assert sorted(arrays) == ["mean", "model/vocabulary"]
    after = Preprocessing.from_arrays(bow, ("centre",), arrays)
    np.testing.assert_array_equal(after.transform(raw), before.transform(raw))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_named_beyond_the_first_block(bad):
    raw = np.ones((10, 3), dtype=np.float32)
    raw[[7, 9], 1] = bad
    with pytest.raises(
        ProtocolError, match="features: expected finite numbers, got NaN or infinity in 2 of 10 rows, first in row 7"
    ):
        made().transform(raw, block=4)
    with pytest.raises(ProtocolError, match="first in row 7"):
        made("centre", raw_train=raw)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["center"], r"preprocessing step: expected .*, got 'center'.*Did you mean 'centre'"),
        (["l2", "l2"], r"preprocessing: expected each step at most once, got l2, l2\."),
        (["centre", "l2", "grand_mean"], r"expected at most one of centre and grand_mean, got both\."),
    ],
)
def test_unknown_and_repeated_steps_are_refused(steps, message):
    with pytest.raises(ProtocolError, match=message):
        made(*steps)


def test_vectors_or_means_of_another_length_are_refused_if_the_length_is_known():
    with pytest.raises(ProtocolError, match=r"Plain\(\): expected vectors of shape \(4, 3\), got \(4, 2\)"):
        made().transform(RAW[:, :2])
    with pytest.raises(ProtocolError, match=r"step 'centre' of Plain\(\): expected the training set's mean, got none"):
        Preprocessing.from_arrays(Plain(), ("centre",), {})
    with pytest.raises(ProtocolError, match=r"expected shape \(3,\), got shape \(2,\)"):
        Preprocessing.from_arrays(Plain(), ("centre",), {"mean": np.zeros(2)}).transform(RAW)

    class Any(Plain):
        dimension = None

    assert Preprocessing.fit(Any(), RAW[:, :2], ("centre",), seed=0).transform(RAW[:, :2]).shape == (4, 2)

import numpy as np
import pytest

from protocol.checks import ProtocolError
from protocol.datasets import Data
from protocol.datasets.digits import load


def test_digits_are_the_bundled_ones_scaled_to_bytes():
    from sklearn.datasets import load_digits

    data, bundled = load({}), load_digits()
    assert data.images.shape == (1797, 8, 8)
    assert data.images.max() == 255
    np.testing.assert_array_equal(np.rint(data.images * (16 / 255)), bundled.images)
    np.testing.assert_array_equal(data.labels, bundled.target)
    assert (data.ids[0], data.ids[-1]) == ("digit-0000", "digit-1796")


def test_a_value_of_eight_is_half_of_the_range():
    from sklearn.datasets import load_digits

    assert set(load({}).images[load_digits().images == 8]) == {128}  # 127.5, rounded to even


PIXELS = np.zeros((3, 4, 4), dtype=np.uint8)
IDS = np.array(["a", "b", "c"])
WRONG = {
    "no image": ({"images": PIXELS[:0], "ids": IDS[:0]}, "none empty; came shape (0, 4, 4) of uint8"),
    "float pixels": ({"images": PIXELS / 2}, "came shape (3, 4, 4) of float64"),
    "four channels": ({"images": np.zeros((3, 4, 4, 4), np.uint8)}, "came shape (3, 4, 4, 4)"),
    "too few ids": ({"ids": IDS[:2]}, "ids: wanted one string per image, (3,); came shape (2,)"),
    "ids not strings": ({"ids": np.arange(3)}, "ids: wanted one string per image"),
    "id twice": ({"ids": np.array(["a", "b", "a"])}, "ids: 'a' names 2 images; wanted unique ids"),
    "too few labels": ({"labels": np.array([0, 1])}, "labels: wanted one per item, 3, came 2"),
    "class too high": ({"labels": np.array([0, 1, 2])}, "classes run from 0 to 2, but there are 2 class names"),
    "class below 0": ({"labels": np.array([0, -1, 1])}, "classes run from -1 to 1"),
    "narrow integers": ({"labels": np.zeros(3, np.int32)}, "wanted int64 (n,) or bool (n, n_classes)"),
    "label columns": ({"labels": np.ones((3, 3), bool)}, "3 columns, but there are 2 class names"),
    "0/1 label matrix": ({"labels": np.ones((3, 2), np.int64)}, "wanted int64 (n,) or bool (n, n_classes)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_data_that_contradict_themselves_are_refused(case):
    changed, message = WRONG[case]
    parts = {"images": PIXELS, "labels": np.array([0, 1, 0]), "ids": IDS, "class_names": ("cat", "dog")} | changed
    with pytest.raises(ProtocolError) as error:
        Data(**parts)
    assert message in str(error.value)


def test_data_may_have_several_labels_or_none():
    assert Data(PIXELS, None, IDS).labels is None
    assert Data(PIXELS, np.ones((3, 2), bool), IDS, class_names=("cat", "dog")).labels.sum() == 6

import numpy as np

from protocol.datasets.digits import load


def test_digits_are_the_bundled_ones_scaled_to_bytes():
    from sklearn.datasets import load_digits

    data, bundled = load({}), load_digits()
    assert data.images.shape == (1797, 8, 8)
    assert data.images.max() == 255
    np.testing.assert_array_equal(np.rint(data.images * (16 / 255)), bundled.images)
    np.testing.assert_array_equal(data.labels, bundled.target)
    assert (data.ids[0], data.ids[-1]) == ("digit-0000", "digit-1796")

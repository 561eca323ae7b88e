import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.features.sift import Sift


@pytest.mark.parametrize("shape", [(8, 8), (32, 32, 3), (64, 64), (100, 70, 3)])
def test_one_descriptor_per_image_of_any_size(shape):
    X, image = extract_all(Sift(), noise(3, *shape))
    assert (X.shape, X.dtype) == ((3, 128), np.uint8)
    assert image.tolist() == [0, 1, 2]


def test_a_descriptor_has_norm_512_up_to_rounding():
    length = np.linalg.norm(extract_all(Sift(), noise(20, 32, 32))[0].astype(float), axis=1)
    np.testing.assert_allclose(length, 512, atol=6)  # 128 roundings of up to a half: at most sqrt(32) = 5.7


def test_a_ramp_to_the_right_has_one_orientation():
    ramp = np.tile(np.arange(0, 256, 8, dtype=np.uint8), (1, 32, 1))
    by_orientation = extract_all(Sift(), ramp)[0].reshape(16, 8).sum(axis=0)
    assert by_orientation.argmax() == 0
    assert not extract_all(Sift(), np.zeros((1, 32, 32), np.uint8))[0].any()


def test_local_items_record_their_image_and_flat_images_have_none():
    images = noise(4, 32, 32)
    images[[0, 2]] = 77
    X, image = extract_all(Sift(items="local"), images)
    assert set(image) == {1, 3}
    assert len(X) == len(image) > 10
    assert (np.diff(image) >= 0).all()
    assert image.dtype == np.int64


def test_flat_images_alone_give_an_empty_matrix():
    X, image = extract_all(Sift(items="local"), np.zeros((2, 32, 32), np.uint8))
    assert (X.shape, image.shape) == ((0, 128), (0,))

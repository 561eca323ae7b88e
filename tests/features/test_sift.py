import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.features.sift import Sift


@pytest.mark.parametrize("shape", [(8, 8), (100, 70, 3)])
def test_one_descriptor_of_norm_512_per_image_of_any_size(shape):
    X, image = extract_all(Sift(), noise(20, *shape))
    assert (X.shape, X.dtype, image.tolist()) == ((20, 128), np.uint8, list(range(20)))
    length = np.linalg.norm(X.astype(float), axis=1)
    np.testing.assert_allclose(length, 512, atol=6)  # 128 roundings of up to a half: at most sqrt(32) = 5.7


def test_local_items_record_their_image_and_flat_images_have_none():
    images = noise(4, 32, 32)
    images[[0, 2]] = 77
    X, image = extract_all(Sift(items="local"), images)
    assert set(image) == {1, 3}
    assert len(X) == len(image) > 10
    X, image = extract_all(Sift(items="local"), images[[0, 2]])
    assert (X.shape, image.shape) == ((0, 128), (0,))

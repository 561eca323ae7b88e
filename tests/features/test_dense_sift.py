import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.features.dense_sift import DenseSift, centres


def test_patches_are_spread_from_edge_to_edge_along_the_rows():
    assert centres(2, 16, 32).tolist() == [7.5, 23.5]
    assert centres(1, 16, 32).tolist() == [15.5]
    assert centres(3, 32, 32).tolist() == [15.5] * 3
    image = np.zeros((1, 64, 64), np.uint8)
    image[0, 4:12, 54:62] = noise(8, 8)  # top right
    feature = DenseSift(grid=3, patch=16, image_size=64)
    assert feature.dimension == 9 * 128
    seen = extract_all(feature, image)[0].reshape(9, 128).any(axis=1)
    assert seen.tolist() == [False, False, True] + 6 * [False]


@pytest.mark.parametrize("turns", range(4))
def test_a_ramp_has_one_orientation(turns):
    ramp = np.rot90(np.tile(np.arange(0, 256, 8, dtype=np.uint8), (1, 32, 1)), turns, axes=(1, 2))
    by_orientation = extract_all(DenseSift(grid=1), ramp)[0].reshape(16, 8).sum(axis=0)
    assert np.flatnonzero(by_orientation).tolist() == [2 * turns]  # a quarter turn is two eighths


def test_a_flat_patch_is_zero_and_the_others_have_norm_512():
    image = np.full((1, 32, 32), 9, np.uint8)
    image[:, :, 24:] = noise(1, 32, 8)
    length = np.linalg.norm(extract_all(DenseSift(grid=2), image)[0].reshape(2, 2, 128).astype(float), axis=2)
    assert length[:, 0].tolist() == [0, 0]
    np.testing.assert_allclose(length[:, 1], 512, atol=6)  # 128 roundings of up to a half: at most sqrt(32) = 5.7

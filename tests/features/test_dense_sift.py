import numpy as np
from blocks import extract_all, noise

from protocol.features.dense_sift import DenseSift


def test_a_flat_patch_is_zero_and_the_others_have_norm_512():
    image = np.full((1, 32, 32), 9, np.uint8)
    image[:, :, 24:] = noise(1, 32, 8)
    length = np.linalg.norm(extract_all(DenseSift(grid=2), image)[0].reshape(2, 2, 128).astype(float), axis=2)
    assert length[:, 0].tolist() == [0, 0]
    np.testing.assert_allclose(length[:, 1], 512, atol=6)  # 128 roundings of up to a half: at most sqrt(32) = 5.7

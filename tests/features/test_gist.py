"""Properties of GIST; tests/reference compares it with the published formula."""

import numpy as np
from blocks import extract_all, noise

from protocol.features.gist import Gist, _averaging
from protocol.inputs.images import resizing


def test_512_components_from_the_options_alone():
    assert Gist().dimension == 512
    assert Gist(scales=3, orientations=6, grid=2).dimension == 72
    assert Gist(scales=3, orientations=[8, 8, 4], colour="rgb").dimension == 960


def test_brightness_and_contrast_do_not_matter_and_a_constant_image_has_no_texture():
    image = noise(1, 32, 32) // 4
    changed, unchanged = (extract_all(Gist(), pixels)[0] for pixels in (image * 2 + 50, image))
    np.testing.assert_allclose(changed, unchanged, rtol=1e-4, atol=1e-6)
    assert not extract_all(Gist(), np.full((1, 32, 32, 3), 128, np.uint8))[0].any()


def test_wide_images_are_cropped_and_resizing_is_bilinear():
    wide = noise(1, 32, 50)
    np.testing.assert_array_equal(extract_all(Gist(), wide)[0], extract_all(Gist(), wide[:, :, 9:41])[0])
    np.testing.assert_allclose(resizing(2, 4), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    np.testing.assert_allclose(resizing(4, 2), np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7, rtol=1e-6)
    np.testing.assert_array_equal(resizing(5, 5), np.eye(5))


def test_sizes_of_cells_differ_by_at_most_one_pixel():
    np.testing.assert_allclose(_averaging(5, 2), [[1 / 2, 1 / 2, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 1 / 3]])

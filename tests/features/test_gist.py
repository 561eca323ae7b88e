"""Properties of GIST; tests/reference compares it with the published formula."""

import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.features.gist import Gist, _averaging
from protocol.inputs.images import resizing


def by_filter(images):
    """Mean over the cells: (n, 4 scales, 8 orientations)."""
    return extract_all(Gist(), images)[0].reshape(-1, 4, 8, 16).mean(axis=3)


def grating(angle, cycles):
    """Brightness varies along `angle` (radians, y downwards), `cycles` times over 32 pixels."""
    y, x = np.mgrid[:32, :32] / 32
    wave = np.cos(2 * np.pi * cycles * (x * np.cos(angle) + y * np.sin(angle)))
    return np.rint(127.5 * (1 + wave)).astype(np.uint8)[None]


def test_512_components_from_the_options_alone():
    assert Gist().dimension == 512
    assert Gist(scales=3, orientations=6, grid=2).dimension == 72
    assert Gist(scales=3, orientations=[8, 8, 4], colour="rgb").dimension == 960


@pytest.mark.parametrize("orientation", range(8))
def test_a_grating_excites_its_own_orientation_most(orientation):
    # Filter o passes frequencies at -pi o / 8, that is gratings turned by pi (1 - o / 8).
    assert by_filter(grating(-np.pi * orientation / 8, 8))[0].sum(axis=0).argmax() == orientation


def test_the_coarser_the_grating_the_coarser_the_scale():
    scales = [by_filter(grating(0, cycles))[0, :, 0].argmax() for cycles in (9.6, 5.2, 2.8)]
    assert scales == [0, 1, 2]  # 0.3 cycles per pixel is 9.6 per image, each scale 1.85 times fewer


def test_cells_run_down_the_columns():
    image = np.zeros((1, 32, 32), np.uint8)
    image[0, 1:7:2, 17:23] = 255  # texture in the first row of cells, third column
    assert (extract_all(Gist(), image)[0].reshape(32, 16).sum(axis=0)).argmax() == 2 * 4 + 0


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

import numpy as np
import pytest
from blocks import extract_all, noise

from protocol.features.pixels import Pixels


@pytest.mark.parametrize("shape", [(5, 9), (9, 5, 3)])
def test_pixels_are_unchanged(shape):
    images = noise(300, *shape)
    X, image = extract_all(Pixels(), images)
    assert X.dtype == np.uint8
    np.testing.assert_array_equal(X, images.reshape(300, -1))
    assert image.tolist() == list(range(300))


def test_grey_pixels_of_colour_images():
    images = noise(4, 6, 7, 3)
    weights = {"mean": [1 / 3, 1 / 3, 1 / 3], "luma": [0.299, 0.587, 0.114]}
    for colour, shares in weights.items():
        grey = (images @ np.array(shares)).reshape(4, 42)
        np.testing.assert_allclose(extract_all(Pixels(colour=colour), images)[0], grey, rtol=1e-6)
    np.testing.assert_array_equal(extract_all(Pixels(colour="rgb"), images)[0], images.reshape(4, 126))
    np.testing.assert_array_equal(extract_all(Pixels(colour="luma"), images[..., 0])[0], images[..., 0].reshape(4, 42))


def test_resized_pixels_keep_the_channels_of_a_pixel_together():
    images = np.zeros((1, 4, 8, 3), np.uint8)
    images[0, :, 2:4] = (10, 20, 30)  # the left half of the central square
    images[0, :, 4:6] = (40, 50, 60)
    np.testing.assert_allclose(extract_all(Pixels(image_size=1), images)[0], [[25, 35, 45]], rtol=1e-6)
    red = extract_all(Pixels(image_size=2), images)[0].reshape(2, 2, 3)[0, :, 0]
    assert red.tolist() == pytest.approx([100 / 7, 250 / 7])


@pytest.mark.parametrize(("colour", "length"), [(None, None), ("mean", 64), ("rgb", 192)])
def test_the_length_is_known_if_the_options_determine_it(colour, length):
    assert Pixels(colour=colour).dimension is None
    assert Pixels(image_size=8, colour=colour).dimension == length

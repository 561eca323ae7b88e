"""Features of images by hand, and options of features; tests/reference has the published formulas."""

import re

import numpy as np
import pytest
from blocks import extract_all, noise
from encoded import refuses, yaml_of

from protocol import registry
from protocol.checks import ProtocolError
from protocol.features.bow import BagOfWords
from protocol.features.dense_sift import DenseSift
from protocol.features.gist import Gist, _averaging
from protocol.features.pixels import Pixels
from protocol.features.sift import Sift
from protocol.inputs.images import resizing

WRONG = yaml_of("features/options.yaml")


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_an_option_out_of_range_is_refused(name, options, message):
    refuses(f"^{re.escape(message)}$", registry.get("feature", name), **options)


@pytest.mark.parametrize("name", ["gist", "pixels"])
def test_grey_images_have_no_colours(name):
    with pytest.raises(ProtocolError, match="colour: expected 'mean' or 'luma' for grey images, got 'rgb'"):
        extract_all(registry.get("feature", name)(colour="rgb"), noise(1, 32, 32))


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
    np.testing.assert_array_equal(resizing(5, 5), np.eye(5))


def test_sizes_of_cells_differ_by_at_most_one_pixel():
    np.testing.assert_allclose(_averaging(5, 2), [[1 / 2, 1 / 2, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 1 / 3]])


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


def test_descriptors_are_those_of_a_grid():
    X, _ = extract_all(BagOfWords(grid=3), noise(4, 32, 32, 3))
    assert (X.shape, X.dtype) == ((4, 9, 128), np.uint8)
    np.testing.assert_array_equal(X.reshape(4, -1), extract_all(DenseSift(grid=3), noise(4, 32, 32, 3))[0])


def test_each_word_is_the_mean_of_its_nearest_descriptors():
    raw, bow = noise(40, 5, 128), BagOfWords(n_words=6, n_sample=200)
    vocabulary = bow.fit(raw, seed=3)["vocabulary"]
    assert (vocabulary.shape, vocabulary.dtype) == ((6, 128), np.float32)
    descriptors = raw.reshape(-1, 128).astype(np.float64)
    word = ((descriptors[:, None] - vocabulary) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(vocabulary, [descriptors[word == own].mean(axis=0) for own in range(6)], atol=1e-3)
    counts = np.eye(6)[word].reshape(40, 5, 6).sum(axis=1)
    expected = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    np.testing.assert_allclose(bow.encode(raw, {"vocabulary": vocabulary}), expected, rtol=1e-6)


def test_too_few_distinct_descriptors_are_refused():
    message = r"^bow: 5 words need at least as many distinct training descriptors, got 4 \(40 in total\)\.$"
    refuses(message, BagOfWords(n_words=5).fit, np.repeat(noise(4, 1, 128), 10, axis=0), seed=0)

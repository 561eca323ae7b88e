"""The features against slow, plain versions: double precision, one image, one filter, one descriptor at a time."""

import math

import numpy as np
import pytest
from blocks import extract_all
from encoded import yaml_of

from protocol.features.dense_sift import DenseSift
from protocol.features.gist import Gist
from protocol.features.sift import Sift


def mirrored(image, border):
    """Pad by the mirror image, edge pixel repeated, pixel by pixel."""
    n = len(image)
    place = [-1 - i if i < 0 else 2 * n - 1 - i if i >= n else i for i in range(-border, n + border)]
    return image[np.ix_(place, place)]


def by_frequency(n, gain_of):
    """A filter, frequency by frequency, in the Fourier transform's order."""
    frequencies = [k if k < n / 2 else k - n for k in range(n)]
    return np.array([[gain_of(fy, fx) for fx in frequencies] for fy in frequencies])


def low_passed(image, cycles):
    gain = by_frequency(len(image), lambda fy, fx: math.exp(-(fx**2 + fy**2) / (cycles / math.sqrt(math.log(2))) ** 2))
    return np.fft.ifft2(np.fft.fft2(image) * gain)


def gabor(n, scale, orientation, orientations):
    def gain_of(fy, fx):
        turned = math.atan2(fy, fx) + math.pi * orientation / orientations
        turned -= 2 * math.pi if turned > math.pi else 0
        radial = math.hypot(fx, fy) / n / (0.3 / 1.85**scale) - 1
        width = 16 * orientations**2 / 32**2
        return math.exp(-10 * 0.35 * radial**2 - 2 * width * math.pi * turned**2)

    return by_frequency(n, gain_of)


def slow_gist(grey, filters, border, grid):
    grey = grey - grey.min()
    grey = 255 * grey / grey.max()
    padded = mirrored(np.log(grey + 1), 5)
    detail = padded - low_passed(padded, 4).real
    even = (detail / (0.2 + np.sqrt(np.abs(low_passed(detail**2, 4)))))[5:-5, 5:-5]
    spectrum = np.fft.fft2(mirrored(even, border))
    side = len(grey) // grid
    vector = []
    for gain in filters:
        response = np.abs(np.fft.ifft2(spectrum * gain))[border : border + len(grey), border : border + len(grey)]
        for column in range(grid):
            for row in range(grid):
                vector.append(response[row * side : (row + 1) * side, column * side : (column + 1) * side].mean())
    return np.array(vector)


@pytest.fixture(scope="module")
def pictures():
    """Smooth blobs, sharp edges and noise, in colour."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    blobs = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / c) for a, b, c in rng.uniform(4, 40, (6, 3))]
    grey = np.stack([blobs[0], blobs[1] - blobs[2], x > y, (x // 5 + y // 7) % 2, rng.random((32, 32)), sum(blobs)])
    grey = (grey - grey.min(axis=(1, 2), keepdims=True)) / np.ptp(grey, axis=(1, 2))[:, None, None]
    return np.rint(grey[..., None] * np.array([250, 180, 90])).astype(np.uint8)


def resized(channel, size):
    """Resize bilinearly, pixel by pixel: triangles as wide as the coarser of the two pixels."""
    n, found = len(channel), np.empty((size, size))
    shares = []
    for place in range(size):
        centre = (place + 0.5) * n / size - 0.5
        share = np.array([max(0, 1 - abs(centre - pixel) / max(n / size, 1)) for pixel in range(n)])
        shares.append(share / share.sum())
    for row in range(size):
        for column in range(size):
            found[row, column] = shares[row] @ channel @ shares[column]
    return found


def channels_of(picture, colour):
    picture = picture.astype(float)
    weights = {"mean": [[1 / 3] * 3], "luma": [[0.299, 0.587, 0.114]], "rgb": np.eye(3)}[colour]
    return [picture @ np.array(row) for row in weights]


GISTS = yaml_of("reference/gists.yaml")


@pytest.mark.parametrize("name", GISTS)
def test_gist_is_the_published_formula(pictures, name):
    gist = Gist(**GISTS[name])
    size, border, grid = gist.image_size, gist.border, gist.grid
    numbers = [gist.orientations] * gist.scales if isinstance(gist.orientations, int) else gist.orientations
    filters = [gabor(size + 2 * border, s, o, n) for s, n in enumerate(numbers) for o in range(n)]
    fast = extract_all(gist, pictures)[0]
    for vector, picture in zip(fast, pictures, strict=True):
        squares = [resized(channel, size) for channel in channels_of(picture, gist.colour)]
        slow = np.concatenate([slow_gist(square, filters, border, grid) for square in squares])
        np.testing.assert_allclose(vector, slow, rtol=1e-4, atol=1e-4 * slow.mean())


def slow_descriptor(grey, x0, y0, patch):
    """Lowe's section 6 for one upright patch, pixel by pixel, cell by cell."""
    n, width = len(grey), patch / 4
    histogram = np.zeros((4, 4, 8))
    for y in range(n):
        for x in range(n):
            right = grey[y, min(x + 1, n - 1)] - grey[y, max(x - 1, 0)]
            up = grey[max(y - 1, 0), x] - grey[min(y + 1, n - 1), x]
            eighths = math.atan2(up, right) / (2 * math.pi) * 8 % 8
            u, v = (x - x0) / width, (y - y0) / width
            weight = math.hypot(right, up) * math.exp(-(u**2 + v**2) / (2 * 2**2))
            for row in range(4):
                for column in range(4):
                    in_cell = max(0, 1 - abs(v - (row - 1.5))) * max(0, 1 - abs(u - (column - 1.5)))
                    for orientation in range(8 if in_cell else 0):
                        away = abs(eighths - orientation)
                        histogram[row, column, orientation] += weight * in_cell * max(0, 1 - min(away, 8 - away))
    vector = histogram.ravel()
    if not vector.any():
        return vector
    vector = np.minimum(vector / np.linalg.norm(vector), 0.2)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("grid", "patch", "image_size"), [(2, 20, 24), (1, 32, 40), (2, 7, 32)])
def test_dense_sift_is_lowe_s_descriptor_of_every_patch(pictures, grid, patch, image_size):
    fast = extract_all(DenseSift(grid=grid, patch=patch, image_size=image_size), pictures)[0].reshape(-1, grid**2, 128)
    centres = [patch / 2 - 0.5 + step * (image_size - patch) / max(grid - 1, 1) for step in range(grid)]
    centres = centres if grid > 1 else [(image_size - 1) / 2]
    for descriptors, picture in zip(fast, pictures, strict=True):
        grey = resized(channels_of(picture, "luma")[0], image_size)
        slow = [slow_descriptor(grey, x, y, patch) for y in centres for x in centres]
        expected = np.minimum(np.rint(512 * np.array(slow)), 255)
        different = descriptors != expected  # where rounding in float32 falls on the other side of a half
        assert different.mean() < 5e-3
        assert np.abs(descriptors[different].astype(float) - expected[different]).max(initial=0) <= 1


def grey_square(picture, size):
    return np.rint(resized(channels_of(picture, "luma")[0], size)).astype(np.uint8)


def test_sift_of_a_complete_image_is_opencv_s(pictures):
    import cv2

    grey = grey_square(pictures[5], 64)
    _, expected = cv2.SIFT_create().compute(grey, [cv2.KeyPoint(32, 32, 64 / 6, 0)])
    np.testing.assert_array_equal(extract_all(Sift(), pictures)[0][5], expected[0])


def test_local_sift_is_opencv_s_keypoint_by_keypoint(pictures):
    import cv2

    expected, owner = [], []
    for number, picture in enumerate(pictures):
        descriptors = cv2.SIFT_create().detectAndCompute(grey_square(picture, 64), None)[1]
        for descriptor in [] if descriptors is None else descriptors:
            expected.append(descriptor)
            owner.append(number)
    assert len(expected) > 20
    X, image = extract_all(Sift(items="local"), pictures)
    np.testing.assert_array_equal(X, expected)
    assert image.tolist() == owner

"""The features against slow, plain versions: double precision, one image, one filter, one descriptor at a time."""

import math

import numpy as np
import pytest

from protocol.features.bow import BagOfWords
from protocol.features.gist import Gist
from protocol.features.sift import Sift


def mirrored(image, border):
    """Pad by the mirror image, edge pixel repeated, pixel by pixel."""
    n = len(image)
    place = [-1 - i if i < 0 else 2 * n - 1 - i if i >= n else i for i in range(-border, n + border)]
    return image[np.ix_(place, place)]


def low_passed(image, cycles):
    n = len(image)
    gain = np.zeros((n, n))
    for v in range(n):
        for u in range(n):
            fy, fx = (v if v < n / 2 else v - n), (u if u < n / 2 else u - n)
            gain[v, u] = math.exp(-(fx**2 + fy**2) / (cycles / math.sqrt(math.log(2))) ** 2)
    return np.fft.ifft2(np.fft.fft2(image) * gain)


def gabor(n, scale, orientation, orientations):
    gain = np.zeros((n, n))
    for v in range(n):
        for u in range(n):
            fy, fx = (v if v < n / 2 else v - n), (u if u < n / 2 else u - n)
            turned = math.atan2(fy, fx) + math.pi * orientation / orientations
            turned -= 2 * math.pi if turned > math.pi else 0
            radial = math.hypot(fx, fy) / n / (0.3 / 1.85**scale) - 1
            width = 16 * orientations**2 / 32**2
            gain[v, u] = math.exp(-10 * 0.35 * radial**2 - 2 * width * math.pi * turned**2)
    return gain


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


@pytest.mark.parametrize(("scales", "orientations", "grid", "border"), [(4, 8, 4, 32), (3, 6, 2, 10)])
def test_gist_is_the_published_formula(pictures, scales, orientations, grid, border):
    fast = Gist(scales=scales, orientations=orientations, grid=grid, border=border).extract(pictures)["X"]
    filters = [gabor(32 + 2 * border, s, o, orientations) for s in range(scales) for o in range(orientations)]
    for vector, picture in zip(fast, pictures, strict=True):
        slow = slow_gist(picture.astype(float).mean(axis=2), filters, border, grid)
        np.testing.assert_allclose(vector, slow, rtol=1e-4, atol=1e-4 * slow.mean())


def test_bow_counts_the_nearest_words():
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 256, (300, 4, 128), dtype=np.uint8)
    vocabulary = rng.uniform(0, 255, (20, 128)).astype(np.float32)
    fast = BagOfWords(n_words=20, grid=2).encode(raw, {"vocabulary": vocabulary})
    for vector, descriptors in zip(fast, raw, strict=True):
        histogram = [0] * 20
        for descriptor in descriptors:
            distances = [math.dist(descriptor.tolist(), word.tolist()) for word in vocabulary]
            histogram[distances.index(min(distances))] += 1
        length = math.sqrt(sum(count**2 for count in histogram))
        np.testing.assert_allclose(vector, [count / length for count in histogram], rtol=1e-6)


def test_sift_of_a_whole_image_is_opencv_s(pictures):
    import cv2

    grey = cv2.resize(cv2.cvtColor(pictures[5], cv2.COLOR_RGB2GRAY), (64, 64), interpolation=cv2.INTER_LINEAR)
    _, wanted = cv2.SIFT_create().compute(grey, [cv2.KeyPoint(32, 32, 64 / 6, 0)])
    np.testing.assert_array_equal(Sift().extract(pictures)["X"][5], wanted[0])


def test_local_sift_is_opencv_s_keypoint_by_keypoint(pictures):
    import cv2

    wanted, owner = [], []
    for number, picture in enumerate(pictures):
        grey = cv2.resize(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), (64, 64), interpolation=cv2.INTER_LINEAR)
        descriptors = cv2.SIFT_create().detectAndCompute(grey, None)[1]
        for descriptor in [] if descriptors is None else descriptors:
            wanted.append(descriptor)
            owner.append(number)
    assert len(wanted) > 20
    found = Sift(items="local").extract(pictures)
    np.testing.assert_array_equal(found["X"], wanted)
    assert found["image"].tolist() == owner

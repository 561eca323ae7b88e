"""The guarantees of every feature, and wrong features that the checks must reject."""

import inspect

import numpy as np
import pytest
from blocks import extract_all
from encoded import refuses

from protocol import registry
from protocol.features import Feature, Preprocessing


def colour():
    return np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)


def taken(feature):
    """Return an input of the kind that the feature accepts: images or vectors."""
    return colour() if feature.reads == "images" else np.random.default_rng(0).random((40, 6))


def check_constructor(feature):
    parameters = inspect.signature(type(feature)).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in parameters), "options: keyword, default"
    default = {p.name: p.default for p in parameters}
    assert feature.options == default, "the constructor only stores its options"
    assert vars(feature) == default, "the constructor only stores its options"


def check_others_refused(feature):
    """Inputs of another kind are refused in one line."""
    images, vectors = colour(), colour()[:, 0, 0]
    if feature.reads == "images":
        expected = r"images: expected uint8 \(n, height, width\)"
        wrong = [images[:0], images / 255, images[0, 0], images[..., :2], images.tolist()]
    else:
        expected = r"vectors: expected numbers of shape \(n, d\)"
        wrong = [images, vectors[:0], vectors[:, 0], [[1.0]], vectors.astype(str), vectors > 100]
    for other in wrong:
        refuses(expected, list, feature.extract(other))


def check_extract(feature):
    images, done = taken(feature), []
    before = images.copy()
    X, image = extract_all(feature, images, done.append)
    assert np.array_equal(images, before), "images are not changed"
    assert sum(done) == len(images), "progress counts every image once"
    assert image.dtype == np.int64
    assert image.shape == X.shape[:1]
    assert set(image) <= set(range(len(images)))
    assert (np.diff(image) >= 0).all(), "items keep the images' order"
    for rows in (slice(0, 1), slice(3, 37)):
        alone, inside = extract_all(feature, images[rows]), (image >= rows.start) & (image < rows.stop)
        assert np.array_equal(alone[0], X[inside]), "an image's values don't depend on the others"
        assert np.array_equal(alone[1] + rows.start, image[inside])
    if feature.reads == "images":
        for other in (images[..., 0], images[:, :8, :8, 0], images[:, 4:28], images[:, :, :20]):
            assert len(extract_all(feature, other)[0]), "grey, small, wide and tall images are also described"
        constant = extract_all(feature, np.full((1, 32, 32), 77, np.uint8))[0]
        assert np.isfinite(constant).all(), "constant images are described"


class Sliced:
    """Rows that can only be read by slices, like a dataset that stays in its file."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.largest = array, array.shape, array.dtype, 0

    def __len__(self):
        return len(self.array)

    def __getitem__(self, rows):
        assert isinstance(rows, slice), "rows are read by slices"
        found = self.array[rows]
        self.largest = max(self.largest, len(found))
        return found


def check_streams(feature):
    some = taken(feature)
    images = np.concatenate([some] * (feature.block // len(some) + 2))
    sliced = Sliced(images)
    blocks = list(feature.extract(sliced))
    assert len(blocks) > 1, "it yields blocks"
    assert sliced.largest < len(images), "a feature never reads all images at once"
    X = np.concatenate([X for X, _ in blocks])
    assert np.array_equal(X, extract_all(feature, images)[0]), "an array gives the same features"
    first = images[:40]
    expected = extract_all(feature, first)[0]
    feature.block = 7
    assert np.array_equal(extract_all(feature, first)[0], expected), "other blocks give the same bytes"


def check_vectors(feature):
    raw = extract_all(feature, taken(feature))[0]
    model, again = feature.fit(raw, 7), feature.fit(raw, 7)
    assert model.keys() == again.keys()
    assert all(np.array_equal(model[name], again[name]) for name in model), "the same seed gives the same model"
    vectors = feature.encode(raw, model)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(raw), feature.dimension or vectors.shape[1])
    assert np.isfinite(vectors).all()
    assert np.array_equal(feature.encode(raw[5:9], model), vectors[5:9]), "a vector doesn't depend on the others"
    fitted = Preprocessing.fit(feature, raw, ("l2", "centre"), 7)
    restored = Preprocessing.from_arrays(feature, ("l2", "centre"), fitted.to_arrays())
    assert np.array_equal(restored.transform(raw), fitted.transform(raw)), "what is learned can be stored"


CHECKS = (check_constructor, check_others_refused, check_extract, check_streams, check_vectors)


@pytest.mark.parametrize("name", registry.names("feature"))
def test_every_feature(name):
    record = registry.entry("feature", name)
    for check in CHECKS:
        check(record.plugin())


class Plain(Feature):
    """A correct feature: the pixels of a corner, unchanged."""

    block = 16
    side: int = 2

    @property
    def dimension(self):
        return self.side**2

    def _describer(self, images):
        def describe(block):
            grey = block if block.ndim == 3 else block[..., 0]
            return grey[:, : self.side, : self.side].reshape(len(block), -1) + 1.0, np.arange(len(block))

        return describe


def but(name, **methods):
    """Return the correct feature, except for some methods."""
    return type(name, (Plain,), methods)


def describing(name, see=lambda images: None, describe=lambda rows, block: rows):
    """Return the correct feature, but for what it does with the images, and with the rows of a block."""

    def _describer(self, images):
        see(images)
        plain = Plain._describer(self, images)
        return lambda block: (describe(plain(block)[0], block), plain(block)[1])

    return but(name, _describer=_describer)


def colour_only(self, images, progress=None):
    for rows, image in Plain.extract(self, images, progress):
        yield (rows, image) if len(images.shape) == 4 else (rows[:0], image[:0])


WRONG = [
    (check_others_refused, but("TakesAnything", _check=lambda self, images: None)),
    (check_streams, describing("ReadsAll", see=lambda images: images[:].any())),
    (check_streams, describing("SeesNeighbours", describe=lambda rows, block: rows - block.mean())),
    (check_extract, describing("ChangesImages", see=lambda images: images.sort())),
    (check_extract, describing("SeesNeighbours", describe=lambda rows, block: rows - block.mean())),
    (check_extract, but("Silent", extract=lambda self, images, progress=None: Plain.extract(self, images))),
    (check_extract, but("ColourOnly", extract=colour_only)),
    (check_vectors, but("Long", dimension=5)),
    (check_vectors, but("Double", encode=lambda self, raw, model: raw.astype(float))),
    (check_vectors, but("Moody", fit=lambda self, raw, seed: {"noise": np.random.default_rng().random(3)})),
    (check_vectors, but("Relative", encode=lambda self, raw, model: (raw - raw.mean()).astype(np.float32))),
]


def test_a_plain_feature_passes():
    for check in CHECKS:
        check(Plain())


@pytest.mark.parametrize(("check", "wrong"), WRONG, ids=lambda given: given.__name__)
def test_a_wrong_feature_is_rejected(check, wrong):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(wrong())

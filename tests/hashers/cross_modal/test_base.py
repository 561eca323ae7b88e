"""Cross-modal hashers: properties that the contracts, which only encode the queries' modality, do not cover."""

import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers import packed_codes
from protocol.hashers.cross_modal.cca_itq import CCAITQ
from protocol.hashers.cross_modal.cvh import CVH
from protocol.provenance import storage

NAMES = [name for name in registry.names("hasher") if registry.get("hasher", name).supervision == "pairs"]
RNG = np.random.default_rng(0)
CLASS = RNG.integers(0, 5, 400)
HIDDEN = 3 * RNG.normal(size=(5, 4))[CLASS] + RNG.normal(size=(400, 4))
IMAGE = (HIDDEN @ RNG.normal(size=(4, 30)) + RNG.normal(size=(400, 30))).astype(np.float32)
TEXT = (HIDDEN @ RNG.normal(size=(4, 6)) + RNG.normal(size=(400, 6))).astype(np.float32)
TRAIN, TEST = slice(0, 300), slice(300, 400)


def fitted(name, n_bits=16, seed=0, **options):
    return registry.get("hasher", name)(n_bits, seed=seed, **options).fit(IMAGE[TRAIN], TEXT[TRAIN])


def distances(model):
    """Hamming distances of test images (rows) and test texts (columns)."""
    query, database = model.transform(IMAGE[TEST]), model.transform_database(TEXT[TEST])
    return (query[:, None] != database).sum(axis=2)


@pytest.mark.parametrize("name", NAMES)
def test_unseen_pairs_and_classes_are_near(name):
    apart, same = distances(fitted(name, 4)), CLASS[TEST][:, None] == CLASS[TEST]
    assert np.diag(apart).mean() < apart[same].mean() < 0.7 * apart[~same].mean()


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_pairs_give_random_codes(name):
    torn = registry.get("hasher", name)(16).fit(IMAGE[TRAIN], np.roll(TEXT[TRAIN], 7, axis=0))
    apart, same = distances(torn), CLASS[TEST][:, None] == CLASS[TEST]
    assert apart[same].mean() > 0.9 * apart[~same].mean()


@pytest.mark.parametrize("name", NAMES)
def test_the_narrower_modality_carries_more_bits_than_it_has_features(name):
    codes = fitted(name, 64).transform_database(TEXT)
    assert codes.shape == (400, 64)
    assert len(np.unique(codes, axis=1).T) == 64
    assert np.logical_and(codes.any(axis=0), ~codes.all(axis=0)).all()


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_come_back_from_a_file_and_from_the_seed(name, tmp_path):
    model = fitted(name, 24, seed=3)
    storage.write(tmp_path / "m.h5", model.to_arrays(), storage.provenance("test", parameters={}, inputs={}))
    back, again, other = (
        type(model).from_arrays(storage.read(tmp_path / "m.h5")),
        fitted(name, 24, seed=3),
        fitted(name),
    )
    codes = model.transform_database(TEXT).tobytes()
    assert codes == back.transform_database(TEXT).tobytes() == again.transform_database(TEXT).tobytes()
    assert codes != other.transform_database(TEXT).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_modality_taken_for_the_other_is_refused(name):
    model = fitted(name)
    with pytest.raises(ProtocolError, match="expected 30 features as in fit, got 6"):
        model.transform(TEXT)
    with pytest.raises(ProtocolError, match="expected 6 features as in fit, got 30"):
        model.transform_database(IMAGE)
    with pytest.raises(
        ProtocolError, match="expected finite numbers, got NaN or infinity in 1 of 400 rows, first in row 7"
    ):
        model.transform_database(np.where(np.arange(400)[:, None] == 7, np.nan, TEXT))
    with pytest.raises(ProtocolError, match="transform_database: expected a fitted hasher"):
        registry.get("hasher", name)().transform_database(TEXT)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_the_database_are_coded_by_themselves(name):
    model = fitted(name)
    codes = model.transform_database(TEXT)
    for row in range(0, 400, 23):
        np.testing.assert_array_equal(model.transform_database(TEXT[row : row + 1]), codes[row : row + 1])


def test_cvh_is_the_same_in_both_directions():
    """If the modalities are exchanged, a bit may be flipped in both of them, which changes no distance."""
    forth, back = CVH(16).fit(IMAGE[TRAIN], TEXT[TRAIN]), CVH(16).fit(TEXT[TRAIN], IMAGE[TRAIN])
    reverse = back.transform(TEXT[TEST])[None] != back.transform_database(IMAGE[TEST])[:, None]
    np.testing.assert_array_equal(reverse.sum(axis=2), distances(forth))


def test_the_rotation_costs_less_than_plain_signs():
    """ITQ brings the projected rows of both modalities nearer to the corners of a cube than no rotation does."""
    losses = []
    for n_iter in (1, 5, 50):
        model, loss = CCAITQ(8, n_iter=n_iter).fit(IMAGE[TRAIN], TEXT[TRAIN]), 0
        for side, X in (("", IMAGE[TRAIN]), ("database_", TEXT[TRAIN])):
            V = _projected(model, side, X)
            loss += ((np.where(V >= 0, 1, -1) - V) ** 2).sum()
        losses.append(loss)
    assert losses[0] > losses[1] > losses[2]


def _projected(model, side, X):
    anchors, width, offset, projection = (
        getattr(model, f"{side}{name}_") for name in ("anchors", "width", "offset", "projection")
    )
    near = ((X[:, None].astype(float) - anchors) ** 2).sum(axis=2)
    return (np.exp(-near / (2 * width**2)) - offset) @ projection


def test_the_fit_record_has_the_correlations_from_the_highest_on():
    correlations = fitted("cca_itq").fit_record_["correlations"]
    assert len(correlations) == 16
    assert 1 >= correlations[0] > 0.8
    assert correlations == sorted(correlations, reverse=True)


def test_packed_codes_of_the_database_are_of_its_modality():
    model = fitted("cvh", 8)
    packed = packed_codes({"": model}, [TEXT[:10], TEXT[10:]], of_database=True)[""]
    np.testing.assert_array_equal(np.unpackbits(packed, axis=1, bitorder="little"), model.transform_database(TEXT))


@pytest.mark.parametrize("constant", ["image", "text", "both"])
def test_a_constant_modality_gives_constant_codes(constant):
    image = np.full_like(IMAGE, 5) if constant != "text" else IMAGE
    text = np.full_like(TEXT, 0.1) if constant != "image" else TEXT
    model = CCAITQ(8).fit(image, text)
    assert model.fit_record_["correlations"] == [0] * 8
    for codes, same in (
        (model.transform(image), constant != "text"),
        (model.transform_database(text), constant != "image"),
    ):
        assert (len(np.unique(codes, axis=0)) == 1) >= same

"""Cross-modal hashers: properties that the contracts, which only encode the queries' modality, do not cover."""

import numpy as np
import pytest
from encoded import refuses

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers.cross_modal.cca_itq import CCAITQ
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
def test_the_database_side_comes_back_from_a_file_and_codes_each_row_by_itself(name, tmp_path):
    model = fitted(name, 24)
    storage.write(tmp_path / "m.h5", model.to_arrays(), storage.provenance("test", parameters={}, inputs={}))
    back, codes = type(model).from_arrays(storage.read(tmp_path / "m.h5")), model.transform_database(TEXT)
    assert codes.tobytes() == back.transform_database(TEXT).tobytes()
    np.testing.assert_array_equal(model.transform_database(TEXT[7:30]), codes[7:30])


@pytest.mark.parametrize("name", NAMES)
def test_a_modality_taken_for_the_other_is_refused(name):
    model = fitted(name)
    refuses(r"^X: 6 features, but fit had 30\.$", model.transform, TEXT)
    refuses(r"^X: 30 features, but fit had 6\.$", model.transform_database, IMAGE)
    with pytest.raises(ProtocolError, match=r"\.transform_database: the hasher is not fitted\. Call fit\(X\) first\.$"):
        registry.get("hasher", name)().transform_database(TEXT)


@pytest.mark.parametrize("constant", ["image", "text", "both"])
def test_a_constant_modality_gives_constant_codes(constant):
    image = np.full_like(IMAGE, 5) if constant != "text" else IMAGE
    text = np.full_like(TEXT, 0.1) if constant != "image" else TEXT
    model = CCAITQ(8).fit(image, text)
    assert model.fit_record_["correlations"] == [0] * 8
    for codes, same in ((model.transform(image), "text"), (model.transform_database(text), "image")):
        assert constant == same or len(np.unique(codes, axis=0)) == 1

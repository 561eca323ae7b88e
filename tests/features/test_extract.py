"""The script that streams a dataset's content through a feature into a file."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from blocks import whole

from protocol import registry, storage
from protocol.checks import ProtocolError


@pytest.fixture
def extract(root, tmp_path):
    """Return a function that runs the script on a dataset's arrays, and reads what it wrote."""
    spec = importlib.util.spec_from_file_location("extract", root / "workflow" / "scripts" / "extract.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def run(feature, arrays, **options):
        content, features = tmp_path / "content.h5", tmp_path / "features.h5"
        storage.write(content, arrays, storage.passport("dataset", parameters={}, inputs={}, notes=["made up"]))
        job = SimpleNamespace(
            wildcards=SimpleNamespace(feature=feature),
            params=SimpleNamespace(options=options),
            input=SimpleNamespace(content=content, items=lambda: [("content", content)]),
            output=SimpleNamespace(features=features),
        )
        script.main(job)
        return storage.read(features), storage.read_passport(features), storage.read_passport(content)

    return run


IMAGES = np.random.default_rng(0).integers(0, 256, (600, 12, 16, 3), dtype=np.uint8)
IMAGES[100:500] = 50  # no keypoint in any image of a block


@pytest.mark.parametrize(
    ("name", "options"),
    [("gist", {"image_size": 16, "border": 4}), ("sift", {"items": "local"}), ("bow", {"grid": 2}), ("pixels", {})],
)
def test_a_file_is_what_the_feature_gives(extract, name, options):
    arrays, passport, content = extract(name, {"images": IMAGES}, **options)
    X, image = whole(registry.get("feature", name)(**options), IMAGES)
    assert arrays["X"].dtype == X.dtype
    np.testing.assert_array_equal(arrays["X"], X)
    np.testing.assert_array_equal(arrays["image"], image)
    assert passport["maker"] == f"feature {name}"
    assert passport["inputs"] == {"content": content["digest"]}
    assert passport["notes"] == ["made up"]


def test_vectors_pass_by_their_name_or_as_the_only_ones(extract):
    text, picture = np.random.default_rng(0).random((5000, 3)), IMAGES[:5]
    arrays, _, _ = extract("precomputed", {"images": picture, "vectors/text": text})
    np.testing.assert_array_equal(arrays["X"], text)
    arrays, _, _ = extract("precomputed", {"vectors/image": text[:9], "vectors/text": text}, name="text")
    np.testing.assert_array_equal(arrays["X"], text)
    with pytest.raises(ProtocolError, match="several arrays 'vectors': vectors/image, vectors/text; name one"):
        extract("precomputed", {"vectors/image": text[:9], "vectors/text": text})


def test_what_the_dataset_has_not_is_refused_and_leaves_no_file(extract, tmp_path):
    with pytest.raises(ProtocolError, match="has no array 'images'; it has: vectors/gist"):
        extract("gist", {"vectors/gist": np.zeros((4, 3))})
    bad = np.zeros((5000, 3))
    bad[4999] = np.inf
    with pytest.raises(ProtocolError, match="row 4999 of vectors gives NaN or infinity"):
        extract("precomputed", {"vectors/gist": bad})
    assert [path.name for path in tmp_path.iterdir()] == ["content.h5"]

"""The scripts that stream a dataset's content through a feature into a file, in one job or in several."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from blocks import extract_all

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance import storage


class Files(dict):
    """A job's files: by key and by name."""

    __getattr__ = dict.__getitem__


@pytest.fixture
def script(root):
    """Return a function that runs a script of the workflow on files and parameters."""

    def run(name, *, output, params, wildcards=None, **files):
        spec = importlib.util.spec_from_file_location(name, root / "workflow" / "scripts" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made = {
            "wildcards": SimpleNamespace(**(wildcards or {})),
            "params": SimpleNamespace(**params),
            "input": Files(files),
            "output": SimpleNamespace(features=output),
        }
        module.main(SimpleNamespace(**made))

    return run


@pytest.fixture
def content(tmp_path):
    """Return a function that writes a dataset's arrays and returns the file."""

    def write(arrays):
        storage.write(
            tmp_path / "content.h5", arrays, storage.provenance("dataset", parameters={}, inputs={}, notes=["made up"])
        )
        return tmp_path / "content.h5"

    return write


@pytest.fixture
def extract(script, content, tmp_path):
    """Return a function that extracts a feature from a dataset's arrays in one job, and reads the result."""

    def run(feature, arrays, by_reference=True, **options):
        source, features = content(arrays), tmp_path / "features.h5"
        params = {"feature": feature, "options": options, "by_reference": by_reference}
        script("feature", output=features, params=params, content=source, parts=[])
        return storage.read(features), storage.read_provenance(features), storage.read_provenance(source)

    return run


@pytest.fixture
def extract_in_parts(script, content, tmp_path):
    """Return a function that extracts a feature in several jobs, one for each part, and reads the joined result."""

    def run(feature, arrays, n_parts, **options):
        source, joined = content(arrays), tmp_path / "joined.h5"
        params = {"feature": feature, "options": options, "by_reference": True}
        parts = [tmp_path / f"{part}.h5" for part in range(n_parts)]
        for part, path in enumerate(parts):
            script(
                "feature_part",
                output=path,
                params=params | {"n_parts": n_parts},
                wildcards={"part": str(part)},
                content=source,
            )
        script("feature", output=joined, params=params, content=source, parts=parts)
        return joined, [storage.read(path) for path in parts]

    return run


IMAGES = np.random.default_rng(0).integers(0, 256, (600, 12, 16, 3), dtype=np.uint8)
IMAGES[100:500] = 50  # no keypoint in any image of a block


@pytest.mark.parametrize(
    ("name", "options"),
    [("gist", {"image_size": 16, "border": 4}), ("sift", {"items": "local"}), ("bow", {"grid": 2}), ("pixels", {})],
)
def test_a_file_contains_the_output_of_the_feature(extract, name, options):
    arrays, provenance, content = extract(name, {"images": IMAGES}, **options)
    X, image = extract_all(registry.get("feature", name)(**options), IMAGES)
    assert arrays["X"].dtype == X.dtype
    np.testing.assert_array_equal(arrays["X"], X)
    np.testing.assert_array_equal(arrays["image"], image)
    assert provenance["maker"] == f"feature {name}"
    assert provenance["inputs"] == {"content": content["digest"]}
    assert provenance["notes"] == ["made up"]


@pytest.mark.parametrize(
    ("name", "options", "several"),
    [
        ("sift", {"items": "local"}, True),  # several items per image, or none
        ("gist", {"image_size": 16, "border": 4}, False),
        ("bow", {"grid": 2}, False),
    ],
)
def test_joined_parts_equal_the_file_of_one_job(extract, extract_in_parts, tmp_path, name, options, several):
    """Divide 601 images into parts of 200, 200 and 201, whose blocks begin at other images than those of one job."""
    images = np.concatenate([IMAGES, IMAGES[:1]])
    one, provenance, _ = extract(name, {"images": images}, **options)
    joined, parts = extract_in_parts(name, {"images": images}, 3, **options)
    three = storage.read(joined)
    assert list(three) == list(one)
    for array in one:
        assert three[array].dtype == one[array].dtype
        assert three[array].shape == one[array].shape
        assert three[array].tobytes() == one[array].tobytes(), array
    assert storage.read_provenance(joined) == provenance  # including the digest of the file
    assert joined.read_bytes() == (tmp_path / "features.h5").read_bytes()
    bounds = [0, 200, 400, 601]
    for part, first, last in zip(parts, bounds, bounds[1:], strict=False):
        own = (one["image"] >= first) & (one["image"] < last)
        np.testing.assert_array_equal(part["image"], one["image"][own])
        np.testing.assert_array_equal(part["X"], one["X"][own])
    assert (np.bincount(one["image"], minlength=len(images)) != 1).any() == several


def test_parts_of_two_modalities_are_joined(extract, extract_in_parts):
    rng = np.random.default_rng(0)
    arrays = {"vectors/image": rng.random((50, 4)), "vectors/text": rng.random((50, 3))}
    options = {"name": "image", "database_name": "text"}
    one, provenance, _ = extract("image_to_text", arrays, **options)
    joined, _ = extract_in_parts("image_to_text", arrays, 3, **options)
    assert set(one) == {"X", "image", "database/X", "database/image"}
    for array, rows in storage.read(joined).items():
        np.testing.assert_array_equal(rows, one[array])
    assert storage.read_provenance(joined)["digest"] == provenance["digest"]


def test_vectors_are_selected_by_name_or_as_the_only_ones(extract):
    text, picture = np.random.default_rng(0).random((5000, 3)), IMAGES[:5]
    arrays, _, _ = extract("precomputed", {"images": picture, "vectors/text": text})
    np.testing.assert_array_equal(arrays["X"], text)
    arrays, _, _ = extract("precomputed", {"vectors/image": text[:9], "vectors/text": text}, name="text")
    np.testing.assert_array_equal(arrays["X"], text)
    with pytest.raises(ProtocolError, match="expected one array 'vectors', got: vectors/image, vectors/text"):
        extract("precomputed", {"vectors/image": text[:9], "vectors/text": text})


def test_unchanged_vectors_are_stored_once(extract, tmp_path):
    vectors = np.random.default_rng(0).random((5000, 30), dtype=np.float32)
    of_copy = extract("precomputed", {"vectors/text": vectors}, by_reference=False)
    copied = (tmp_path / "features.h5").stat().st_size
    referred = extract("precomputed", {"vectors/text": vectors})
    assert copied - (tmp_path / "features.h5").stat().st_size > 0.9 * vectors.nbytes
    np.testing.assert_array_equal(referred[0]["X"], vectors)
    assert referred[1:] == of_copy[1:]  # the provenance records, and the digests in them


def test_arrays_that_the_dataset_lacks_are_refused_and_no_file_is_written(extract, tmp_path):
    with pytest.raises(ProtocolError, match=r"expected an array 'images', got: vectors/gist\.$"):
        extract("gist", {"vectors/gist": np.zeros((4, 3))})
    bad = np.zeros((5000, 3))
    bad[4999] = np.inf
    with pytest.raises(ProtocolError, match="row 4999 of vectors: expected finite values, got NaN or infinity"):
        extract("precomputed", {"vectors/gist": bad})
    assert [path.name for path in tmp_path.iterdir()] == ["content.h5"]

"""The scripts that stream a dataset's content through a feature into a file, in one job or in several."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from blocks import extract_all
from encoded import refuses

from protocol import registry
from protocol.provenance import storage


class Files(dict):
    """A job's files: by key and by name."""

    __getattr__ = dict.__getitem__


@pytest.fixture
def extract(root, tmp_path):
    """Return a function that extracts a feature from a dataset's arrays in one job or several, and reads the result."""

    def script(name, output, params, part=None, **files):
        spec = importlib.util.spec_from_file_location(name, root / "workflow" / "scripts" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        wildcards = {} if part is None else {"part": str(part)}
        job = {"params": params, "output": {"features": output}}
        named = {key: SimpleNamespace(**of) for key, of in job.items()}
        module.main(SimpleNamespace(input=Files(files), wildcards=wildcards, **named))

    def run(feature, arrays, n_parts=0, **options):
        content, features = tmp_path / "content.h5", tmp_path / f"features{n_parts}.h5"
        storage.write(content, arrays, storage.provenance("dataset", parameters={}, inputs={}, notes=["made up"]))
        params = {"feature": {"plugin": feature, "options": options}}
        parts = [tmp_path / f"{part}.h5" for part in range(n_parts)]
        for part, path in enumerate(parts):
            script("feature", path, params | {"n_parts": n_parts}, part, content=content)
        script("feature", features, params, content=content, parts=parts)
        return storage.read(features), storage.read_provenance(features)

    return run


IMAGES = np.random.default_rng(0).integers(0, 256, (600, 12, 16, 3), dtype=np.uint8)
IMAGES[100:500] = 50  # no keypoint in any image of a block


@pytest.mark.parametrize(("name", "options"), [("sift", {"items": "local"}), ("bow", {"grid": 2})])
def test_a_file_contains_the_output_of_the_feature(extract, tmp_path, name, options):
    arrays, provenance = extract(name, {"images": IMAGES}, **options)
    X, image = extract_all(registry.get("feature", name)(**options), IMAGES)
    assert arrays["X"].dtype == X.dtype
    np.testing.assert_array_equal(arrays["X"], X)
    np.testing.assert_array_equal(arrays["image"], image)
    assert provenance["maker"] == f"feature {name}"
    assert provenance["inputs"] == {"content": storage.read_provenance(tmp_path / "content.h5")["digest"]}
    assert provenance["notes"] == ["made up"]


VECTORS = {"vectors/image": np.random.default_rng(0).random((50, 4)), "vectors/text": np.zeros((50, 3))}


@pytest.mark.parametrize(
    ("name", "options", "content"),
    [
        ("sift", {"items": "local"}, {"images": np.concatenate([IMAGES, IMAGES[:1]])}),  # several items, or none
        ("image_to_text", {"name": "image", "database_name": "text"}, VECTORS),
    ],
)
def test_joined_parts_equal_the_file_of_one_job(extract, tmp_path, name, options, content):
    """Divide 601 images into parts of 200, 200 and 201, whose blocks begin at other images than those of one job."""
    one, provenance = extract(name, content, **options)
    assert extract(name, content, 3, **options)[1] == provenance  # including the digest of the arrays
    assert (tmp_path / "features3.h5").read_bytes() == (tmp_path / "features0.h5").read_bytes()
    assert set(one) == ({"X", "image", "database/X", "database/image"} if name == "image_to_text" else {"X", "image"})
    n_images = len(next(iter(content.values())))
    assert (np.bincount(one["image"], minlength=n_images) != 1).any() == (name == "sift")


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
def test_vectors_are_unchanged_and_selected_by_name_or_as_the_only_ones(extract, dtype):
    text, picture = (99 * np.random.default_rng(0).random((5000, 3))).astype(dtype), IMAGES[:5]
    arrays, _ = extract("vectors", {"images": picture, "vectors/text": text})
    np.testing.assert_array_equal(arrays["X"], text, strict=True)
    assert arrays["image"].tolist() == list(range(5000))
    arrays, _ = extract("vectors", {"vectors/image": text[:9], "vectors/text": text}, name="text")
    np.testing.assert_array_equal(arrays["X"], text, strict=True)


LATE = {"vectors/gist": np.where(np.arange(5000) == 4999, np.inf, 0)[:, None]}


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        (
            "gist",
            {"vectors/gist": np.zeros((4, 3))},
            {},
            r"content\.h5: no array 'images'; it contains vectors/gist\.$",
        ),
        ("vectors", VECTORS, {}, r"content\.h5: several arrays 'vectors'; it contains .*vectors/image, vectors/text"),
        ("vectors", LATE, {}, r"^Vectors\(name=None, n_.*=None\): row 4,999 of vectors gives NaN or infinity\.$"),
        ("vectors", LATE, {"name": "gist"}, r"^Vectors\(name='gist', .*\): row 4,999 of vectors/gist gives NaN or inf"),
    ],
)
def test_arrays_that_the_dataset_lacks_are_refused_and_no_file_is_written(
    extract, tmp_path, name, content, options, message
):
    refuses(message, extract, name, content, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["content.h5"]

"""The checks of a loader's result, the known statistics of a dataset, and the user's own files."""

import os

import numpy as np
import pytest
from encoded import refusals, yaml_of
from official_archives import REFUSED, refused

from protocol import datasets, registry
from protocol.checks import ProtocolError
from protocol.datasets._dataset import Data, check_statistics

PIXELS = np.zeros((3, 4, 4), dtype=np.uint8)
IDS = np.array(["a", "b", "c"])


@pytest.mark.parametrize(("changed", "message"), refusals("datasets/wrong_data.yaml"))
def test_inconsistent_data_are_refused(changed, message):
    parts = {"images": PIXELS, "labels": np.array([0, 1, 0]), "ids": IDS, "class_names": ("cat", "dog")} | changed
    refused(message, Data, **parts)


def test_data_may_have_several_labels_or_none_and_vectors_without_images():
    assert Data(IDS, images=PIXELS).labels is None
    vectors = np.ones((3, 5), np.float32)
    assert list(Data(IDS, vectors={"gist": vectors}).arrays) == ["vectors/gist"]
    assert list(Data(IDS, images=PIXELS, vectors={"gist": vectors}).arrays) == ["images", "vectors/gist"]


TOY = Data(
    np.array(list("abcd")),
    np.array([0, 0, 1, 1]),
    ("cat", "dog"),
    np.zeros((4, 6, 6), np.uint8),
    {"gist": np.zeros((4, 5), np.float32)},
    {"train": np.arange(3), "test": np.array([3])},
)
FACTS = {  # the right and another value
    "n": (4, 5),
    "classes": (2, 3),
    "image_shape": ((6, 6), (6, 6, 3)),
    "dimensions": ({"gist": 5}, {"gist": 6}),
    "partitions": ({"train": 3, "test": 1}, {"train": 3}),
    "per_class": (2, 3),
    "labels_per_item": (1.0, 1.01),
    "labelled": (True, False),
    "arrays": (("images", "vectors/gist"), ("images",)),
}
RIGHT = {fact: right for fact, (right, _) in FACTS.items()}


def test_a_different_statistic_is_reported_with_both_values():
    check_statistics("toy", TOY, RIGHT)
    check_statistics("toy", TOY, {})
    for fact, (right, other) in FACTS.items():
        message = f"dataset 'toy' differs from its published description: {fact}: expected {other}, got {right}. Check"
        refused(message, check_statistics, "toy", TOY, RIGHT | {fact: other})


PUBLISHED = yaml_of("datasets/published.yaml")


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_statistics_of_published_datasets_are_known_and_checked(name, monkeypatch):
    options, published = PUBLISHED[name]
    name = name.split()[0]
    assert datasets.statistics(name, options).items() >= published.items()
    monkeypatch.setattr(registry, "get", lambda kind, name: lambda paths, **options: TOY)
    refused(f"n: expected {published['n']}, got 4; ", datasets.load, name, {}, options)


@pytest.fixture
def own(monkeypatch):
    """A dataset whose options name a file and a folder of the user's."""
    paths = {"user_files": ("features", "labels"), "user_folders": ("folder",), "required": ("folder",)}
    entry = registry.DatasetRecord("own", source="x", files=(), statistics={}, **paths)
    monkeypatch.setattr(registry.DATASETS, "entry", lambda name: entry)


def test_files_and_folders_are_found_and_options_without_a_value_are_skipped(own, tmp_path):
    (tmp_path / "x.npz").write_bytes(b"x")
    options = {"features": f"{tmp_path}/x.npz:key", "labels": None, "folder": str(tmp_path)}
    assert datasets.user_paths("own", options) == ([tmp_path / "x.npz"], [tmp_path])
    assert datasets.user_paths("own", options | {"features": None}) == ([], [tmp_path])


@pytest.mark.parametrize(("options", "message"), REFUSED["user_paths"])
def test_a_missing_path_is_a_one_line_error(own, options, message):
    refused(message, datasets.user_paths, "own", {"features": None, "labels": None, "folder": "."} | options)


@pytest.mark.parametrize(
    "record", [one for one in registry.entries("dataset") if one.files or one.required], ids=lambda record: record.name
)
@pytest.mark.parametrize("arguments", [(), ({},), ("a file",), ({"other": "a file"},)])
def test_a_call_without_files_names_all_that_a_loader_needs(record, arguments):
    needed = [*(repr(file.name) for file in record.files), *(f"{option}=PATH" for option in record.required)]
    with pytest.raises(ProtocolError, match=f"^dataset {record.name!r} needs [^\n]*{record.name}` describes ") as error:
        record.plugin(*arguments)
    assert all(name in str(error.value) for name in needed)
    refused(str(error.value), datasets.load, record.name, {}, {})


def test_a_loader_has_the_defaults_of_its_options_and_suggests_them():
    assert len(datasets.load("synthetic", {}, {"n": 200}).ids) == 200
    with pytest.raises(TypeError, match=r"no argument 'n_cluster'\. Did you mean 'n_clusters'\?"):
        registry.get("dataset", "synthetic")(n_cluster=3)


def test_the_state_of_a_folder_follows_names_and_states_of_files(tmp_path):
    file = tmp_path / "cat" / "a.png"
    file.parent.mkdir()
    file.write_bytes(b"one")
    os.utime(file, ns=(1, 10))
    states = [datasets.folder_state(tmp_path)]
    for change in (
        lambda: (file.write_bytes(b"two"), os.utime(file, ns=(1, 10))),  # in place, with the time restored
        lambda: ((tmp_path / "older.png").write_bytes(b"two"), os.utime(tmp_path / "older.png", ns=(1, 5))),
        lambda: (tmp_path / "older.png").replace(file),
        lambda: file.rename(tmp_path / "cat" / "b.png"),
        lambda: (tmp_path / "cat" / "c.png").write_bytes(b""),
        lambda: (tmp_path / "cat" / "nowhere.png").symlink_to(tmp_path / "gone.png"),
    ):
        if file.exists():
            file.read_bytes()
            assert datasets.folder_state(tmp_path) == states[-1]
        change()
        states.append(datasets.folder_state(tmp_path))
    assert len(set(states)) == len(states)


def test_the_images_below_a_folder_are_counted(tmp_path):
    for name in ("a/1.png", "a/2.png", "b/c/3.png", "4.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert datasets.count_images(tmp_path) == 3
    with pytest.raises(ProtocolError, match=r"nowhere: the folder can't be read: No such file or directory\.$"):
        datasets.folder_state(tmp_path / "nowhere")

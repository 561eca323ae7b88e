"""A user's own features, in every format, with and without labels and names."""

import numpy as np
import pytest
from encoded import yaml_of
from official_archives import REFUSED, refused
from plainly import peak_memory

from protocol import datasets
from protocol.datasets.arrays import load

FEATURES = np.random.default_rng(0).standard_normal((6, 4))
LABELS = np.array([3, 3, 7, 1, 7, 3])
CASES = yaml_of("datasets/arrays.yaml")


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES)
    np.savez(tmp_path / "x.npz", train=FEATURES, y=LABELS)
    np.savetxt(tmp_path / "x.csv", FEATURES, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "y.txt", LABELS, fmt="%d")
    return tmp_path


@pytest.mark.parametrize("name", ["x.npy", "x.npz:train", "x.csv"])
def test_every_format_gives_the_same_features(files, name):
    rows = load({}, features=str(files / name)).vectors["features"]
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[:], FEATURES.astype(np.float32))
    np.testing.assert_array_equal(rows[2:5], FEATURES[2:5].astype(np.float32))


def test_labels_become_classes_in_the_order_of_their_numbers(files):
    data = load({}, features=str(files / "x.npy"), labels=str(files / "y.txt"))
    assert data.class_names == ("1", "3", "7")
    assert data.labels.tolist() == [1, 1, 2, 0, 2, 1]
    assert data.ids[[0, 5]].tolist() == [b"item-0000000", b"item-0000005"]


def test_a_matrix_of_zeros_and_ones_means_several_labels_per_item(files):
    several = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [0, 1]])
    np.save(files / "y.npy", several)
    data = load({}, features=str(files / "x.npy"), labels=str(files / "y.npy"))
    np.testing.assert_array_equal(data.labels, several.astype(bool))
    assert data.class_names == ("0", "1")


def test_ids_are_lines_or_numbers(files):
    (files / "ids.txt").write_text("a\nb\nc\nd\ne\nf ü\n", encoding="utf-8")
    np.save(files / "ids.npy", np.arange(6) + 10)
    load_ids = lambda name: load({}, features=str(files / "x.npy"), ids=str(files / name)).ids.tolist()  # noqa: E731
    assert load_ids("ids.txt") == ["a", "b", "c", "d", "e", "f ü"]
    assert load_ids("ids.npy") == ["10", "11", "12", "13", "14", "15"]


@pytest.mark.parametrize(("rows", "ids", "labels", "expected"), [tuple(case.values()) for case in CASES])
def test_features_and_labels_with_ids_are_matched_or_in_a_known_order(files, rows, ids, labels, expected, caplog):
    header = {0: "f,g", 1: "filename,0,1"}.get(rows.split(";")[0].count(" "), ",0,1")
    (files / "x.csv").write_text("\n".join([header, *(f"{','.join(row.split())},1.5" for row in rows.split(";"))]))
    names = ["package,section"] * (" " in labels)
    (files / "y.csv").write_text("\n".join([*names, *labels.replace(" ", ",").split(";")]))
    (files / "ids.txt").write_text(str(ids).replace(" ", "\n"))
    caplog.set_level("INFO", "protocol.inputs")
    options = {"features": str(files / "x.csv"), "labels": str(files / "y.csv"), "ids": None}
    options |= {"ids": str(files / ("y.csv" if ids == "the labels" else "ids.txt"))} if ids else {}
    if ":" in expected:
        refused(expected, datasets.statistics, "arrays", options)
        return
    data = datasets.load("arrays", {}, options)
    items = zip(data.ids.astype(str), data.vectors["features"][:][:, 0], data.labels, strict=True)
    assert ";".join(f"{name} {value:g} {data.class_names[label]}" for name, value, label in items) == expected
    said = "its rows are in the order of the features, and its ids do not order them"
    assert (said in caplog.text) == (expected.startswith("item"))


def test_bytes_stay_bytes_and_other_numbers_become_float32(files):
    for dtype, expected in ((np.uint8, np.uint8), (np.float16, np.float32), (np.int64, np.float32), (bool, np.float32)):
        np.save(files / "z.npy", np.ones((3, 2), dtype))
        rows = load({}, features=str(files / "z.npy")).vectors["features"]
        assert rows.dtype == rows[:2].dtype == expected


def test_a_large_npy_file_is_memory_mapped(tmp_path):
    np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(50_000, 200))  # 40 MB
    some, peak = peak_memory(lambda: load({}, features=str(tmp_path / "x.npy")).vectors["features"][40_000:40_010])
    assert some.shape == (10, 200)
    assert peak < 20e6


@pytest.mark.parametrize(("options", "message"), REFUSED["arrays"])
def test_inconsistent_files_are_reported_on_one_line(files, options, message):
    (files / "short.txt").write_text("1\n2\n")
    (files / "half.txt").write_text("0.5\n" * 6)
    (files / "same.txt").write_text("1\n" * 6)
    (files / "broken.npy").write_bytes((files / "x.npy").read_bytes()[:-5])
    np.save(files / "pickled.npy", np.array([{}]), allow_pickle=True)
    refused(message, load, {}, **{option: str(files / name) for option, name in options.items()})


def test_the_header_of_a_file_is_known_before_it_is_read(files):
    options = {"features": str(files / "x.npy"), "labels": None, "ids": None}
    known = {"arrays": ("vectors/features",), "labelled": False, "n": 6, "dimensions": {"features": 4}}
    assert datasets.statistics("arrays", options) == known
    assert datasets.load("arrays", {}, options).vectors["features"].shape == (6, 4)

"""What every dataset keeps to, and wrong ones that the contract must reject."""

import inspect
import re
from types import MappingProxyType

import numpy as np
import pytest

from protocol import registry
from protocol.datasets import Data
from protocol.downloads import File
from protocol.registry import Entry


def check_facts(entry):
    assert entry.source, "a dataset names its source"
    assert entry.summary, "a dataset has a one-line meaning"
    assert list(inspect.signature(entry.plugin).parameters) == ["paths"]
    files = entry.facts["files"]
    assert isinstance(files, tuple)
    assert len({file.name for file in files}) == len(files), "each file has its own name"
    for file in files:
        assert isinstance(file, File)
        assert re.fullmatch(r"[\w.-]+", file.name), "a file name is no path"
        assert file.urls, "a file has a source"
        assert all(re.match(r"(https?|ftp)://", url) for url in file.urls)
        assert re.fullmatch("[0-9a-f]{64}", file.sha256), "a checksum is 64 hexadecimal digits"
        assert file.size > 0
    statistics = entry.facts["statistics"]
    assert statistics["n"] > 0
    assert statistics["classes"] >= 0
    assert len(statistics["image_shape"]) in (2, 3)


def check_data(entry, data):
    assert isinstance(data, Data)
    statistics = entry.facts["statistics"]
    assert data.images.shape == (statistics["n"], *statistics["image_shape"])
    assert len(data.class_names) == statistics["classes"]
    if data.labels is not None and data.labels.ndim == 1:
        counts = np.bincount(data.labels, minlength=statistics["classes"])
        assert counts.all(), "no class is empty"
        assert set(counts) == {statistics["per_class"]} if "per_class" in statistics else True
    assert data.images.any(), "the images are not blank"


@pytest.mark.parametrize("name", registry.names("dataset"))
def test_facts(name):
    check_facts(registry.entry("dataset", name))


WITHOUT_FILES = [entry.name for entry in registry.entries("dataset") if not entry.facts["files"]]


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_datasets_without_files_load_and_match_their_statistics(name):
    entry = registry.entry("dataset", name)
    data, again = entry.plugin({}), entry.plugin({})
    check_data(entry, data)
    np.testing.assert_array_equal(data.images, again.images)
    np.testing.assert_array_equal(data.ids, again.ids)


def test_digits_and_cifar10_are_there():
    assert {"cifar10", "digits"} <= set(registry.names("dataset"))
    assert "digits" in WITHOUT_FILES
    cifar10 = registry.entry("dataset", "cifar10").facts
    assert cifar10["statistics"]["n"] == cifar10["statistics"]["classes"] * cifar10["statistics"]["per_class"] == 60_000


def wrong(paths):
    """Two images of three stated, one class empty."""
    return Data(np.ones((2, 8, 8), np.uint8), np.array([0, 0]), np.array(["a", "b"]), class_names=("cat", "dog"))


GOOD_FILE = File("a.bin", ("https://example.org/a.bin",), "0" * 64, 1)
STATISTICS = MappingProxyType({"n": 2, "classes": 2, "image_shape": (8, 8)})


def entry_of(**facts):
    facts = {"files": (GOOD_FILE,), "statistics": STATISTICS} | facts
    return Entry("dataset", "wrong", wrong, "a page", "tests", facts)


def test_complete_facts_pass():
    check_facts(entry_of())


@pytest.mark.parametrize(
    "facts",
    [
        {"files": [GOOD_FILE]},
        {"files": (GOOD_FILE, GOOD_FILE)},
        {"files": (File("../a.bin", GOOD_FILE.urls, "0" * 64, 1),)},
        {"files": (File("a.bin", (), "0" * 64, 1),)},
        {"files": (File("a.bin", ("a.bin",), "0" * 64, 1),)},
        {"files": (File("a.bin", GOOD_FILE.urls, "0" * 32, 1),)},
        {"files": (File("a.bin", GOOD_FILE.urls, "0" * 64, 0),)},
        {"statistics": {"n": 0, "classes": 2, "image_shape": (8, 8)}},
    ],
)
def test_incomplete_facts_are_rejected(facts):
    with pytest.raises(AssertionError):
        check_facts(entry_of(**facts))


@pytest.mark.parametrize(
    "statistics",
    [
        {"n": 3, "classes": 2, "image_shape": (8, 8)},
        {"n": 2, "classes": 3, "image_shape": (8, 8)},
        STATISTICS,
    ],
)
def test_data_that_do_not_match_are_rejected(statistics):
    with pytest.raises(AssertionError):
        check_data(entry_of(statistics=statistics), wrong({}))

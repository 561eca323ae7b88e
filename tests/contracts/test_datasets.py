"""The guarantees of every dataset, and wrong datasets that the checks must reject."""

import inspect
import re

import numpy as np
import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.datasets._dataset import Data, check_statistics
from protocol.registry.records import DatasetRecord, File

FACTS = {
    *("n", "classes", "image_shape", "dimensions", "partitions", "per_class"),
    *("labels_per_item", "labelled", "arrays"),
}


def check_facts(entry):
    first, *options = inspect.signature(entry.plugin).parameters.values()
    assert first.name == "paths"
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in options), "options: keyword, default"
    check_files(entry.files)
    statistics = statistics_of(entry)
    assert set(statistics) <= FACTS, "only facts that are checked"
    assert statistics.get("n", 1) > 0
    assert statistics.get("classes", 0) >= 0
    assert len(statistics.get("image_shape", (1, 1))) in (2, 3)
    assert {*entry.user_files, *entry.user_folders} <= {p.name for p in options}


def statistics_of(entry):
    """Return what is known of a dataset under the options it has by default."""
    known = entry.statistics
    options = list(inspect.signature(entry.plugin).parameters.values())[1:]
    return known(**{p.name: p.default for p in options}) if callable(known) else known


def check_files(files):
    assert isinstance(files, tuple)
    assert len({file.name for file in files}) == len(files), "each file has its own name"
    for file in files:
        assert isinstance(file, File)
        assert re.fullmatch(r"[\w.-]+", file.name), "a file name is no path"
        assert file.urls or file.by_hand, "a file has a source, or a description of how to get it"
        assert all(re.match(r"(https?|ftp)://", url) for url in file.urls)
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256), "64 hexadecimal digits"
        assert file.size is None or file.size > 0


def check_data(entry, data):
    assert isinstance(data, Data)
    check_statistics(entry.name, data, statistics_of(entry))
    assert data.images is None or data.images[:].any(), "the images are not blank"


@pytest.mark.parametrize("name", [*registry.names("dataset"), "how-to/add-a-dataset"])
def test_every_dataset(name, find):
    entry = find("dataset", name)
    check_facts(entry)
    if not (entry.files or entry.user_files or entry.user_folders):
        data, again = entry.plugin({}), entry.plugin({})
        check_data(entry, data)
        np.testing.assert_array_equal(data.ids, again.ids)
        for array, rows in data.arrays.items():
            np.testing.assert_array_equal(rows[:], again.arrays[array][:])


def wrong(paths):
    """Two images of three stated, one class empty."""
    return Data(np.array(["a", "b"]), np.array([0, 0]), ("cat", "dog"), images=np.ones((2, 8, 8), np.uint8))


@pytest.mark.parametrize("other", [{"n": 3}, {"classes": 3}])
def test_data_that_do_not_match_are_rejected(other):
    facts = {"n": 2, "classes": 2, "image_shape": (8, 8)}
    right, odd = (
        DatasetRecord("wrong", source="a page", files=(), statistics=statistics).describing(wrong)
        for statistics in (facts, facts | other)
    )
    check_data(right, wrong({}))
    with pytest.raises(ProtocolError):
        check_data(odd, wrong({}))

"""Texts from folders and tables, and 20 Newsgroups from a small archive in the official layout."""

from pathlib import Path

import numpy as np
import pytest
from official_archives import REFUSED, refused, write_tar
from sklearn.datasets import _twenty_newsgroups, fetch_20newsgroups

from protocol import datasets, registry
from protocol.checks import ProtocolError
from protocol.datasets import newsgroups20, texts
from protocol.provenance import storage

MESSAGE = (
    "From: {0}@host\nSubject: {0}\n\nIn article <1> x wrote:\n> quoted {0}\nbody of {0}\r\n\n--\nsigned {0} \xe9\n"
)
NAMES = [
    *("20news-bydate-train/sci.space/10", "20news-bydate-train/sci.space/9", "20news-bydate-train/alt.atheism/3"),
    *("20news-bydate-test/sci.space/12", "20news-bydate-test/alt.atheism/1"),
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that writes files into the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(files):
        for name, content in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content.encode("latin-1"))

    return write


def test_subfolders_are_classes(written):
    written({"own/music/b.txt": "loud\nsong", "own/art/deep/1": "", "own/art/z": "colours", "own/art/.hidden": "no"})
    data = texts.load({}, folder="own")
    assert data.ids.tolist() == ["art/deep/1", "art/z", "music/b.txt"]
    assert data.texts.tolist() == ["", "colours", "loud\nsong"]
    assert (data.labels.tolist(), data.class_names) == ([0, 0, 1], ("art", "music"))


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.TSV", "\t")])
def test_a_table_has_quoted_texts_labels_and_ids(written, name, mark):
    long = "word " * 40_000  # more than the csv module allows by default
    rows = [("label", "text", "id"), ("b", f'"two\nlines{mark} ""quoted"""', "x"), ("a", long, "y"), ("b", "NA", "z")]
    written({name: "".join(f"{mark.join(row)}\n" for row in rows)})
    data = texts.load({}, table=name)
    assert data.texts.tolist() == [f'two\nlines{mark} "quoted"', long, "NA"]
    assert (data.ids.tolist(), data.labels.tolist(), data.class_names) == (["x", "y", "z"], [1, 0, 1], ("a", "b"))


def test_a_table_needs_only_texts(written):
    written({"t.csv": "text\na\nb\n"})
    data = datasets.load("texts", {}, {"folder": None, "table": "t.csv"})
    assert data.labels is None
    assert data.ids.tolist() == [b"item-0000000", b"item-0000001"]


@pytest.mark.parametrize(("options", "files", "message"), REFUSED["texts"])
def test_unusable_texts_are_refused(written, options, files, message):
    written(files)
    refused(message, texts.load, {}, **options)


def test_a_missing_option_is_found_before_any_job():
    refused(
        "dataset_options of 'texts': folder or table is missing. Add {folder: PATH} or {table: PATH}.",
        *(datasets.user_paths, "texts", {"folder": None, "table": None}),
    )
    refused("give folder or table, not both", datasets.statistics, "texts", {"folder": "a", "table": "b"})


def test_larger_texts_than_the_limit_are_refused(written, monkeypatch):
    monkeypatch.setattr("protocol.inputs.limits.TEXT_BYTES", 1 << 20)
    written({"own/a/1": "x" * 600_000, "own/a/2": "y" * 600_000})
    refused("own: the texts exceed the limit of 1 MiB.", texts.load, {}, folder="own")


def test_texts_are_stored_and_read_in_blocks(tmp_path):
    values = np.array(["yé", "", "x" * 5000, "日本"], dtype=np.dtypes.StringDType())
    provenance = storage.provenance("test", parameters={}, inputs={})
    digests = []
    for steps in ([4], [1, 3]):
        with storage.writing(tmp_path / "x.h5", provenance) as file:
            storage_rows = np.split(values, np.cumsum(steps)[:-1])
            file.fill("filled", (4,), values.dtype, storage_rows, progress=lambda n: None)
            for rows in storage_rows:
                file.append("grown", rows)
            file.put("whole", values)
        with storage.opened(tmp_path / "x.h5") as arrays:
            assert [arrays[name][1:3].tolist() for name in arrays] == [values[1:3].tolist()] * 3
        digests.append(storage.read_provenance(tmp_path / "x.h5")["digest"])
    assert digests[0] == digests[1]
    of_other_division = np.array(["y", "é", "x" * 5000, "日本"], dtype=values.dtype)
    assert storage.array_digest(values) != storage.array_digest(of_other_division)


@pytest.fixture
def archive(tmp_path):
    contents = {name: MESSAGE.format(name.replace("/", "-")).encode("latin-1") for name in NAMES}
    return write_tar(tmp_path / newsgroups20.FILE, contents)


@pytest.mark.parametrize("remove", [(), ("headers",), ("quotes", "headers", "footers")])
def test_newsgroups_are_those_of_scikit_learn(archive, tmp_path, monkeypatch, remove):
    """The archive that scikit-learn would download is the made one."""
    monkeypatch.setattr(
        _twenty_newsgroups, "_fetch_remote", lambda *_, **__: str(archive.rename(tmp_path / "a.tar.gz"))
    )
    data = newsgroups20.load({newsgroups20.FILE: archive}, remove=remove)
    for part, n in (("train", 3), ("test", 2)):
        expected = fetch_20newsgroups(data_home=tmp_path, subset=part, remove=remove, shuffle=False)
        names = ["/".join(Path(name).parts[-3:]) for name in expected.filenames]
        order = [data.ids.tolist().index(name) for name in names]
        assert sorted(order) == data.partitions[part].tolist()
        assert (len(order), data.texts[order].tolist()) == (n, expected.data)
        assert data.labels[order].tolist() == expected.target.tolist()
        assert list(data.class_names) == expected.target_names


def test_the_file_is_that_of_scikit_learn():
    (file,) = registry.DATASETS.entry("newsgroups20").files
    official = _twenty_newsgroups.ARCHIVE
    assert (file.name, file.urls, file.sha256) == (official.filename, (official.url,), official.checksum)


def test_other_archives_and_options_are_refused(archive, tmp_path):
    paths = {newsgroups20.FILE: archive}
    refused("remove must be footers, headers or quotes, got 'h'.", newsgroups20.load, paths, remove="headers")
    with pytest.raises(ProtocolError, match=r"n: expected 18846, got 5; classes: expected 20, got 2"):
        datasets.load("newsgroups20", paths, {"remove": ()})
    write_tar(archive, {"20news-bydate-train/x": b""})
    refused(
        "20news-bydate-train/x is not a message in a group of 20news-bydate-train or 20news-bydate-test.",
        newsgroups20.load,
        paths,
    )

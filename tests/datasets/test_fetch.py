"""Downloads: the order of the sources, faults of a server, recorded checksums, and credentials in addresses."""

import hashlib
import re
from dataclasses import replace

import pytest
import web
from encoded import message_of, refused, refuses, yaml_of
from web import Answer

from protocol.datasets import Downloads, File, fetch, redacted

CONTENT, OTHER = bytes(range(256)) * 800, bytes(range(255, -1, -1)) * 800
SHA256, SHA256_OF_OTHER = (hashlib.sha256(content).hexdigest() for content in (CONTENT, OTHER))
SHOWN = yaml_of("datasets/redacted.yaml")
SECRET = "s3cr3t-t0ken"  # noqa: S105 - of no server


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with web.running() as started:
        yield started


@pytest.fixture
def downloads(tmp_path):
    return Downloads("set", tmp_path / "downloads")


@pytest.fixture
def official(server):
    """The file at two official addresses; the first one has nothing."""
    urls = (f"{server.address}/missing", f"{server.address}/data.bin")
    server.answers["/data.bin"] = Answer(CONTENT)
    return File("data.bin", urls, SHA256, len(CONTENT))


@pytest.fixture
def mirrored(downloads, tmp_path):
    """Return the downloads with a mirror folder that has the given bytes."""

    def make(content, **changes):
        path = tmp_path / "a mirror, é" / "set" / "data.bin"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        return replace(downloads, mirror=str(tmp_path / "a mirror, é"), **changes)

    return make


def paths(server):
    return [path for path, _ in server.requests]


def left(downloads):
    return [path.name for path in downloads.folder.rglob("*") if path.is_file()]


def test_official_sources_in_order_and_no_second_download(server, official, downloads):
    provenance = fetch(official, downloads)
    expected = {"file": "data.bin", "source": official.urls[1], "sha256": SHA256, "size": len(CONTENT), "note": None}
    assert provenance == expected
    assert downloads.path(official) == downloads.folder / "set" / SHA256 / "data.bin"
    assert downloads.path(official).read_bytes() == CONTENT
    assert sorted(left(downloads)) == ["data.bin", "data.bin.json", "data.bin.json.sha256"]
    assert fetch(official, downloads) == expected
    assert paths(server) == ["/missing", "/data.bin"]
    downloads.path(official).write_bytes(OTHER)
    assert fetch(official, downloads) == expected
    assert downloads.path(official).read_bytes() == CONTENT


@pytest.mark.parametrize("content", [CONTENT, OTHER])
def test_the_mirror_comes_first_and_the_official_source_if_the_mirror_is_wrong(server, official, mirrored, content):
    downloads = mirrored(content)
    source = f"{downloads.mirror}/set/data.bin" if content == CONTENT else official.urls[1]
    assert (fetch(official, downloads)["source"], fetch(official, downloads)["note"]) == (source, None)
    assert bool(server.requests) == (content == OTHER)


def test_a_mirror_with_another_version_needs_its_checksum(server, official, mirrored):
    downloads = mirrored(OTHER)
    with refused(f"sha256 {SHA256}, got sha256 {SHA256_OF_OTHER} .* as mirror_sha256"):
        fetch(replace(official, urls=()), downloads)
    downloads = replace(downloads, mirror_sha256={"data.bin": SHA256_OF_OTHER})
    note = f"data.bin is not the official file: it was downloaded from a mirror; its sha256 is {SHA256_OF_OTHER}"
    assert fetch(official, downloads)["note"] == note
    assert fetch(official, downloads)["note"] == note
    assert downloads.path(official) == downloads.folder / "set" / SHA256_OF_OTHER / "data.bin"
    assert server.requests == []


FAULTS = {
    "other content": (Answer(OTHER), {}, f"expected sha256 {SHA256}, got sha256 {SHA256_OF_OTHER}"),
    "interrupted": (Answer(CONTENT[:-5], length=len(CONTENT)), {}, "IncompleteRead"),
    "truncated": (Answer(CONTENT[:-5]), {"sha256": None}, r"expected 204,800 bytes, got sha256 \w+ \(204,795 bytes\)"),
    "forbidden": (Answer(status=403), {}, "HTTP status 403"),
}


@pytest.mark.parametrize(("answer", "known", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line_with_each_source_and_leaves_nothing(server, official, downloads, answer, known, message):
    server.answers["/data.bin"] = answer
    file = replace(official, **known)
    text = message_of(fetch, file, downloads)
    assert re.match(rf"data\.bin: the download failed: .*/missing: HTTP status 404; .*/data\.bin: .*{message}", text)
    assert "and put it at FOLDER/set/data.bin and run with --config mirror=FOLDER." in text
    assert left(downloads) == []
    assert not downloads.lock.exists()


def test_without_a_source_or_offline_the_message_says_where_to_put_the_file(server, official, mirrored):
    downloads = mirrored(CONTENT, offline=True)
    lists = File("lists.zip", (f"{server.address}/lists.zip",), None, None, by_hand="ask the authors")
    text = message_of(fetch, lists, downloads)
    assert text.startswith("lists.zip: offline: the download failed: ")
    advice = f"To add it by hand: ask the authors, and put it at {downloads.mirror}/set/lists.zip."
    assert f"No such file or directory. {advice}" in text
    with refused(r"^lists\.zip: offline: there is no source to download it from\. To add it"):
        fetch(lists, replace(downloads, mirror=None))
    fetch(official, downloads)
    assert server.requests == []


def test_the_checksum_of_a_first_download_is_recorded_and_later_changes_are_refused(server, official, downloads):
    file = replace(official, sha256=None, size=None)
    assert fetch(file, downloads)["note"] is None
    assert downloads.path(file) == downloads.folder / "set" / "recorded" / "data.bin"
    ours = f"{SHA256}  set/data.bin\n"
    assert (downloads.lock.name, downloads.lock.read_text()) == ("downloads.lock", ours)
    fetch(file, downloads)
    assert (paths(server), downloads.lock.read_text()) == (["/missing", "/data.bin"], ours)
    downloads.path(file).unlink()
    server.answers["/data.bin"] = Answer(OTHER)
    refuses(f"sha256 {SHA256}, got sha256 {SHA256_OF_OTHER} .* delete the line of set/data.bin", fetch, file, downloads)
    downloads.lock.write_text("")
    assert fetch(file, downloads)["sha256"] == SHA256_OF_OTHER


def test_a_file_without_a_checksum_from_a_mirror_is_noted_and_a_lock_file_is_never_guessed(official, mirrored):
    note = "data.bin has no official checksum and was not downloaded from an official source; its sha256 is "
    file, downloads = replace(official, sha256=None), mirrored(CONTENT)
    assert fetch(file, downloads)["note"] == note + SHA256
    downloads.lock.write_text("<<<<<<< HEAD and more\n")
    refuses(r"downloads\.lock: expected lines `sha256 dataset/file`\.", fetch, file, downloads)


@pytest.mark.parametrize("form", ["http://me:{}@{}/files", "http://{1}/files?token={0}&x="])
def test_credentials_of_a_mirror_are_sent_and_appear_in_no_file_or_message(server, official, downloads, caplog, form):
    caplog.set_level("INFO")
    file = replace(official, urls=())
    path = f"/files?token={SECRET}&x=/set/data.bin" if "?" in form else "/files/set/data.bin"
    downloads = replace(downloads, mirror=form.format(SECRET, server.address.removeprefix("http://")))
    for answer in (Answer(OTHER), Answer(CONTENT[:5], length=9), Answer(status=404)):
        server.answers[path] = answer
        text = message_of(fetch, file, downloads)
        assert "***" in text
        assert SECRET not in text
    server.answers[path] = Answer(CONTENT)
    assert fetch(file, downloads)["source"] == redacted(f"{downloads.mirror}/set/data.bin")
    assert all("Authorization" in headers for _, headers in server.requests) or "me:" not in form  # a password
    written = [path.read_bytes() for path in downloads.folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in content for content in (*written, caplog.text.encode()))


def test_an_address_that_can_not_be_used_is_refused_without_its_credentials(official, downloads):
    for address in ("http://me:{}/x@127.0.0.1:1/f", "ftp://{}@[/", "x://{}@h"):
        other = replace(downloads, mirror=address.format(SECRET))
        assert SECRET not in message_of(fetch, replace(official, urls=()), other)


@pytest.mark.parametrize(("url", "shown"), SHOWN.items())
def test_redacted(url, shown):
    assert redacted(url) == shown
    assert redacted(shown) == shown

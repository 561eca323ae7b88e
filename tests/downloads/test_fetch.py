"""The choice of a source, the provenance of a file, and the recorded checksums."""

import dataclasses
import io
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from loopback import CONTENT, OTHER, Answer, digest

from protocol.checks import ProtocolError
from protocol.downloads import File, check_recorded, fetch, require_local
from protocol.downloads._locked import record, recorded


@pytest.fixture
def mirrored(place, tmp_path):
    """Return the place with a mirror folder that has the given bytes."""

    def make(content, **changes):
        path = tmp_path / "a mirror, é" / "set" / "data.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content)
        return dataclasses.replace(place, mirror=str(tmp_path / "a mirror, é"), **changes)

    return make


def test_the_first_official_source_that_has_the_file(server, official, place, retry_policy):
    file = official(server.gives(Answer(status=404), path="/missing"), server.gives(Answer()))
    assert fetch(file, place, retry_policy=retry_policy) == {
        "file": "data.bin",
        "source": f"{server.address}/data.bin",
        "sha256": digest(CONTENT),
        "size": len(CONTENT),
        "note": None,
    }
    assert place.path(file) == place.folder / "set" / digest(CONTENT) / "data.bin"
    assert place.path(file).read_bytes() == CONTENT


def test_an_existing_file_is_not_downloaded_again(server, official, place, retry_policy):
    file = official(server.gives(Answer()))
    fetch(file, place, retry_policy=retry_policy)
    before = place.path(file).stat()
    assert fetch(file, place, retry_policy=retry_policy)["source"] == file.urls[0]
    after = place.path(file).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("content", "source"), [(OTHER, "{server}/data.bin"), (CONTENT, None)])
def test_a_file_under_the_final_name_is_used_if_its_checksum_is_right(
    server, official, place, retry_policy, content, source
):
    file = official(server.gives(Answer()))
    place.path(file).parent.mkdir(parents=True)
    place.path(file).write_bytes(content)
    fetched = fetch(file, place, retry_policy=retry_policy)["source"]
    assert fetched == (source and source.format(server=server.address))
    assert place.path(file).read_bytes() == CONTENT


def test_an_empty_file(server, place, retry_policy):
    file = File("data.bin", (server.gives(Answer(b"")),), digest(b""), 0)
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == b""


@pytest.mark.parametrize(("content", "is_used"), [(CONTENT, True), (None, False), (OTHER, False)])
def test_a_mirror_comes_first_and_the_official_source_if_it_lacks_the_right_file(
    server, official, mirrored, retry_policy, content, is_used
):
    place, file = mirrored(content), official(server.gives(Answer()))
    fetched = fetch(file, place, retry_policy=retry_policy)
    assert fetched["source"] == (f"{place.mirror}/set/data.bin" if is_used else file.urls[0])
    assert fetched["note"] is None
    assert len(server.requests) == (not is_used)


def test_a_mirror_url_comes_first(server, official, place, retry_policy):
    server.gives(Answer(), path="/mirror/set/data.bin")
    place = dataclasses.replace(place, mirror=f"{server.address}/mirror/")
    assert fetch(official("http://127.0.0.1:9/x"), place, retry_policy=retry_policy)["note"] is None


def test_a_wrong_mirror_alone_is_an_error_with_both_checksums(official, mirrored, retry_policy):
    place = mirrored(OTHER)
    with pytest.raises(ProtocolError, match=f"and sha256 {digest(CONTENT)}, got sha256 {digest(OTHER)}") as caught:
        fetch(official(), place, retry_policy=retry_policy)
    assert str(caught.value).endswith(
        f"put it at {place.mirror}/set/data.bin. If the mirror's file is not meant to be the official one, give its "
        "sha256 as mirror_sha256."
    )


def test_other_bytes_from_a_mirror_are_accepted_with_their_checksum_and_noted(official, mirrored, retry_policy):
    place = mirrored(OTHER, mirror_sha256={"data.bin": digest(OTHER)})
    fetched = fetch(official("http://127.0.0.1:9/x", size=7), place, retry_policy=retry_policy)
    note = f"data.bin is not the official file: it was downloaded from a mirror, and its sha256 is {digest(OTHER)}"
    assert fetched["note"] == note
    assert place.path(official()) == place.folder / "set" / digest(OTHER) / "data.bin"
    assert fetch(official(), place, retry_policy=retry_policy)["note"] == note


def test_files_other_than_the_official_ones_are_never_requested_from_the_official_source(
    server, official, place, retry_policy
):
    place = dataclasses.replace(place, mirror_sha256={"data.bin": digest(OTHER)})
    with pytest.raises(
        ProtocolError, match=rf"find the file with the checksum .* mirror_sha256 \(sha256 {digest(OTHER)}"
    ):
        fetch(official(server.gives(Answer())), place, retry_policy=retry_policy)
    assert server.requests == []


def test_the_part_of_a_mirror_file_is_resumed(official, mirrored, retry_policy):
    place, file = mirrored(CONTENT), official()
    source = f"{place.mirror}/set/data.bin"
    part = place.path(file).with_name("data.bin.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    origin = {"url": Path(source).as_uri(), "etag": "", "modified": "", "size": len(CONTENT)}
    part.with_name("data.bin.part.json").write_text(json.dumps(origin))
    fetch(file, place, retry_policy=retry_policy)


def test_offline_every_missing_file_is_named_at_once(server, official, mirrored, retry_policy):
    place = mirrored(CONTENT, offline=True)
    lists = File("lists.zip", (), None, None, by_hand="ask the authors")
    names = File("names.txt", ("http://127.0.0.1:9/names.txt",), None, 80)
    with pytest.raises(ProtocolError) as caught:
        require_local([official(), lists, names], place)
    assert str(caught.value) == (
        "offline: files of dataset 'set' are missing: "
        f"lists.zip: To add it by hand: ask the authors, and put it at {place.mirror}/set/lists.zip. "
        "names.txt: To add it by hand: get it from http://127.0.0.1:9/names.txt (80 bytes), and put it at "
        f"{place.mirror}/set/names.txt."
    )
    require_local([official()], place)
    require_local([official(), lists], dataclasses.replace(place, offline=False))
    fetch(official(server.gives(Answer())), place, retry_policy=retry_policy)
    assert server.requests == []


def test_the_checksum_of_a_first_download_is_recorded_and_later_changes_are_refused(
    server, official, place, retry_policy
):
    file = official(server.gives(Answer(), Answer(OTHER)), sha256=None, size=None)
    assert fetch(file, place, retry_policy=retry_policy)["note"] is None
    assert place.path(file) == place.folder / "set" / "recorded" / "data.bin"
    assert place.lock == place.folder.parent / "downloads.lock"
    ours = f'{{"file": "set/data.bin", "sha256": "{digest(CONTENT)}", "size": 200000}}\n'
    assert place.lock.read_text() == ours
    fetch(file, place, retry_policy=retry_policy)
    check_recorded([file], place)
    assert len(server.requests) == 1
    place.lock.write_text(ours.replace(digest(CONTENT), digest(OTHER)))  # a lock file from elsewhere
    with pytest.raises(ProtocolError, match=f"its sha256 is {digest(CONTENT)}, but .* records {digest(OTHER)}"):
        check_recorded([file], place)
    place.lock.write_text("")
    check_recorded([file], place)
    place.lock.write_text(ours)
    place.path(file).unlink()
    with pytest.raises(ProtocolError, match=f"sha256 {digest(CONTENT)}, got sha256 {digest(OTHER)}") as caught:
        fetch(file, place, retry_policy=retry_policy)
    assert str(caught.value).endswith(f"to accept the new file, delete the line of set/data.bin in {place.lock}.")
    assert not place.path(file).exists()
    place.lock.write_text("")
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == OTHER


def test_a_file_without_a_checksum_from_a_mirror_is_noted(official, mirrored, retry_policy):
    assert fetch(official(sha256=None), mirrored(CONTENT), retry_policy=retry_policy)["note"] == (
        "data.bin has no official checksum and was not downloaded from an official source; "
        f"its sha256 is {digest(CONTENT)}"
    )


def test_without_a_checksum_the_size_is_still_checked(server, official, place, retry_policy):
    file = official(server.gives(Answer()), sha256=None, size=300_000)
    with pytest.raises(ProtocolError, match=r"expected 300,000 bytes, got sha256 \w+ \(200,000 bytes\)"):
        fetch(file, place, retry_policy=retry_policy)
    assert not place.lock.exists()


def test_the_lock_file_is_sorted_loses_nothing_and_any_line_may_be_deleted(tmp_path):
    lock = tmp_path / "downloads.lock"
    jobs = [
        threading.Thread(
            target=record, args=(lock, f"set/{number:02d}"), kwargs={"sha256": f"{number}", "size": number}
        )
        for number in reversed(range(30))
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    lines = lock.read_text().splitlines(keepends=True)
    assert [json.loads(line)["size"] for line in lines] == list(range(30))
    lock.write_text("".join(lines[:2]))
    assert (recorded(lock, "set/01"), recorded(lock, "set/02")) == ("1", None)
    assert [path.name for path in tmp_path.iterdir()] == ["downloads.lock"]


@pytest.mark.parametrize("line", ["<<<<<<< HEAD", "[]", '{"file": "set/data.bin"}'])
def test_a_lock_file_that_can_not_be_read_names_the_line(official, place, retry_policy, line):
    place.lock.write_text(f'{{"file": "a", "sha256": "b", "size": 1}}\n{line}\n')
    with pytest.raises(ProtocolError, match=r"downloads\.lock: line 2: expected .*\. Restore the line, or delete it"):
        fetch(official(sha256=None), place, retry_policy=retry_policy)
    place.lock.unlink()


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_size_and_speed_on_a_terminal_only(server, official, place, retry_policy, monkeypatch, terminal):
    shown = io.StringIO()
    shown.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", shown)
    fetch(official(server.gives(Answer())), place, retry_policy=retry_policy)
    assert ("data.bin: 100%" in shown.getvalue()) is terminal
    assert ("200k/200k" in shown.getvalue() and "B/s" in shown.getvalue()) is terminal


def test_a_certificate_bundle_named_by_the_environment_is_used(
    server, official, place, retry_policy, monkeypatch, tmp_path
):
    for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(ProtocolError, match=r"none\.pem"):
        fetch(official(server.address.replace("http", "https")), place, retry_policy=retry_policy)


def test_a_process_that_downloads_nothing_loads_no_library():
    code = "import sys, protocol.downloads; print([n for n in ('tqdm', 'fcntl', 'numpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['numpy']"  # of the shared modules

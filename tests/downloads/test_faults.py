"""Faults of servers, disks and users during a download, which recovers or ends with one clear error.

The fixture `place` asserts after each test that no file with a final name has the wrong content.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from loopback import CONTENT, OTHER, Answer, digest

from protocol.checks import ProtocolError
from protocol.downloads import Place, fetch

HALF = len(CONTENT) // 2
FAULTS = yaml.safe_load((Path(__file__).parent / "faults.yaml").read_text())
CONTENTS = {
    "other": OTHER,
    "half": CONTENT[:HALF],
    "quarter": CONTENT[: HALF // 2],
    "more": CONTENT + b"x",
    "empty": b"",
}
DIGESTS = {"CONTENT": CONTENT, "OTHER": OTHER, "HALF": CONTENT[:HALF], "JOINED": OTHER[:HALF] + CONTENT[HALF:]}
DONE = ["data.bin", "data.bin.json", "data.bin.json.sha256"]


def answers(fault):
    """Return the responses of a fault in `faults.yaml`."""
    for fields in fault["answers"]:
        given = {name: value for name, value in fields.items() if name != "of"}
        yield Answer(CONTENTS.get(fields.get("of"), CONTENT), **given)


def fails(file, place, retry_policy, message):
    """Return the error message; no file may have the final name."""
    with pytest.raises(ProtocolError, match=message) as caught:
        fetch(file, place, retry_policy=retry_policy)
    assert "\n" not in str(caught.value)
    assert not place.path(file).exists()
    return str(caught.value)


def left(place, file):
    return sorted(path.name for path in place.path(file).parent.iterdir())


def part_of(place, file, content=b"", origin=""):
    """Return the path of a file's part, with this content and record of its origin."""
    part = place.path(file).with_name("data.bin.part")
    if content:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.with_name("data.bin.part.json").write_text(origin)
    return part


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_that_drops_at_random_bytes(server, official, place, retry_policy, seed, ranges):
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    drops = sorted(rng.randrange(len(CONTENT)) for _ in range(6))  # more than the attempts without progress
    broken = [Answer(drop=drop, reset=rng.random() < 0.5, ranges=ranges) for drop in drops]
    file = official(server.gives(*broken, Answer(ranges=ranges)))
    assert fetch(file, place, retry_policy=retry_policy)["sha256"] == digest(CONTENT)
    assert place.path(file).read_bytes() == CONTENT
    assert left(place, file) == DONE


@pytest.mark.parametrize("case", FAULTS["recovers"])
def test_a_fault_from_which_a_download_recovers(server, official, place, retry_policy, pauses, case):
    fault = FAULTS["recovers"][case]
    file = official(server.gives(*answers(fault)), **fault.get("known", {}))
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == CONTENT
    assert server.ranges() == [offset and f"bytes={HALF}-" for offset in fault["ranges"]]
    assert pauses == fault.get("pauses", pauses)
    if case == "interrupted":
        assert server.requests[1][1]["If-Range"] == '"one"'


@pytest.mark.parametrize("case", FAULTS["fails"])
def test_a_fault_that_ends_a_download(server, official, place, retry_policy, pauses, case):
    fault = FAULTS["fails"][case]
    file = official(server.gives(*answers(fault)), **fault.get("known", {}))
    message = fault["message"]
    for name, content in DIGESTS.items():
        message = message.replace(f"sha256 {name}", f"sha256 {digest(content)}")
    fails(file, place, dataclasses.replace(retry_policy, most_bytes=300_000), message)
    assert fault["requests"] in (None, len(server.requests))
    assert left(place, file) == (["data.bin.part", "data.bin.part.json"] if fault.get("part") else [])
    assert not place.lock.exists()
    assert pauses == fault.get("pauses", pauses)


def test_a_drip_is_abandoned_for_the_next_source(server, official, place, retry_policy, monkeypatch):
    """After 60 s of a clock that only looking at it moves, 10 bytes have arrived; the server sends no more."""
    clock = itertools.count(0, 60)
    monkeypatch.setattr("protocol.downloads._transfer.time", SimpleNamespace(monotonic=lambda: next(clock)))
    file = official(server.gives(Answer(stall=10), path="/slow.bin"), server.gives(Answer()))
    fetch(file, place, retry_policy=dataclasses.replace(retry_policy, rate=0.5))
    assert [path for path, _ in server.requests] == ["/slow.bin", "/data.bin"]
    message = r"/slow.bin: only 10 bytes in 60 seconds, less than 1,000 bytes per second"
    unknown = official(server.address + "/slow.bin", sha256="0" * 64)
    fails(unknown, place, dataclasses.replace(retry_policy, rate=1000), message)


def test_a_redirect(server, official, place, retry_policy):
    server.gives(Answer(), path="/elsewhere")
    file = official(server.gives(Answer(b"moved", status=302, headers={"Location": "/elsewhere"})))
    fetch(file, place, retry_policy=retry_policy)


@pytest.mark.parametrize("stall", [0, HALF], ids=["before the first byte", "in the middle"])
def test_an_endless_stall(server, official, place, retry_policy, stall):
    file = official(server.gives(Answer(stall=stall), Answer()))
    fails(file, place, dataclasses.replace(retry_policy, attempts=1, stall=1), "no data for 1 seconds")
    part = part_of(place, file)
    fetched = part.stat().st_size if part.exists() else 0
    assert fetched <= stall
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None, f"bytes={fetched}-" if fetched else None]


@pytest.mark.parametrize("size", [len(CONTENT), None], ids=["size known", "size announced"])
def test_too_little_space(server, official, place, retry_policy, monkeypatch, size):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**6, 10**6 - 1000, 1000))
    file = official(server.gives(Answer()), size=size)
    fails(
        file,
        place,
        retry_policy,
        f"not enough disk space in {place.folder}.*: 200,000 bytes are needed, 1,000 are free",
    )
    assert left(place, file) == []


def test_a_download_resumes_when_a_full_disk_has_space_again(server, official, place, retry_policy):
    file = official(server.gives(Answer()))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, most))
    try:
        fails(file, place, retry_policy, "data.bin: can't be written: the file-size limit is reached")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges()[1] is not None


def test_a_dead_first_source(server, official, place, retry_policy, pauses):
    file = official("http://127.0.0.1:9/data.bin", server.gives(Answer()))
    assert fetch(file, place, retry_policy=retry_policy)["source"] == f"{server.address}/data.bin"
    assert pauses == []


def test_a_source_does_not_append_to_the_part_of_another(server, official, place, retry_policy):
    first = server.gives(Answer(OTHER, drop=HALF), path="/first")
    file = official(first, server.gives(Answer()))
    fetch(file, place, retry_policy=dataclasses.replace(retry_policy, attempts=1))
    assert place.path(file).read_bytes() == CONTENT
    assert [path for path, _ in server.requests] == ["/first", "/data.bin"]
    assert server.ranges() == [None, None]


def test_all_sources_are_listed_if_none_works(server, official, place, retry_policy):
    missing, wrong = server.gives(Answer(status=404), path="/a"), server.gives(Answer(OTHER), path="/b")
    message = f"/a: HTTP status 404; .*/b: expected .*, got sha256 {digest(OTHER)}"
    fails(official(missing, wrong), place, retry_policy, message)


def test_an_unknown_host(official, place, retry_policy, pauses):
    unknown = f"http://{'x' * 64}.invalid/data.bin"  # longer than names may be, so no server is contacted
    fails(official(unknown), place, retry_policy, "idna|[Nn]ame")
    assert pauses == []


SCRIPT = """
import sys
from pathlib import Path
from types import SimpleNamespace
from protocol.downloads import File, Place, fetch
url, folder, sha256, size = sys.argv[1:]
fetch(File("data.bin", (url,), sha256, int(size)), Place("set", Path(folder)))
"""


@contextlib.contextmanager
def fetching(url, place):
    """A separate process that fetches the file."""
    command = [sys.executable, "-c", SCRIPT, url, str(place.folder), digest(CONTENT), str(len(CONTENT))]
    with subprocess.Popen(command) as process:
        yield process


def wait_for_half(part, process):
    """Look, without a limit, until a running process has fetched more than a quarter of the file."""
    while not (part.exists() and part.stat().st_size > HALF // 2):
        assert process.poll() is None
        time.sleep(0.01)


def test_a_killed_download_leaves_its_part_and_the_next_run_resumes(server, official, place, retry_policy):
    url = server.gives(Answer(stall=HALF), Answer())
    file = official(url)
    part = part_of(place, file)
    with fetching(url, place) as process:
        wait_for_half(part, process)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert left(place, file) == ["data.bin.part", "data.bin.part.json"]
    fetched = part.stat().st_size
    assert part.read_bytes() == CONTENT[:fetched]
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None, f"bytes={fetched}-"]


def test_killed_between_the_last_byte_and_the_rename(server, official, place, retry_policy):
    file = official(server.gives(Answer()))
    origin = {"url": file.urls[0], "etag": '"one"', "modified": "", "size": len(CONTENT)}
    part_of(place, file, CONTENT, json.dumps(origin))
    fetch(file, place, retry_policy=retry_policy)
    assert server.requests == []


def test_a_part_without_a_readable_origin_is_not_resumed(server, official, place, retry_policy):
    file = official(server.gives(Answer()))
    part_of(place, file, OTHER[:HALF], '{"url": ')
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None]


def released_if_refused(semaphore, flock):
    def lock(file, operation):
        try:
            flock(file, operation)
        except BlockingIOError:
            semaphore.release()
            raise

    return lock


def test_two_processes_fetch_the_same_file_once(server, official, place, retry_policy, monkeypatch):
    url = server.gives(Answer(stall=HALF), Answer())
    file = official(url)
    part = part_of(place, file)
    with fetching(url, place) as first:
        wait_for_half(part, first)
        refused = threading.Semaphore(0)  # released when a thread is refused the lock, so that it waits
        monkeypatch.setattr(fcntl, "flock", released_if_refused(refused, fcntl.flock))
        others = [
            threading.Thread(target=fetch, args=(file, place), kwargs={"retry_policy": retry_policy}) for _ in range(3)
        ]
        for other in others:
            other.start()
        for _ in others:
            refused.acquire()
        assert len(server.requests) == 1
        first.kill()
    for other in others:
        other.join()
    assert len(server.requests) == 2
    assert place.path(file).read_bytes() == CONTENT
    assert left(place, file) == DONE


def test_a_proxy_from_the_environment_is_used(server, official, place, retry_policy, monkeypatch):
    url = "http://behind.invalid/data.bin"
    server.answers[url] = [Answer()]  # requests to a proxy contain the complete address
    monkeypatch.setenv("http_proxy", server.address)
    fetch(official(url), place, retry_policy=retry_policy)
    assert [path for path, _ in server.requests] == [url]


def test_ftp_restarts_after_an_interruption_and_is_refused_without_any_size(ftp, official, place, retry_policy):
    file = official(ftp.url, sha256=None, size=None)
    ftp.announces = False
    fails(file, place, retry_policy, "the server does not send the size of the file")
    ftp.announces, ftp.drops = True, [HALF]
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == CONTENT


def test_offline_touches_no_network(server, official, tmp_path, retry_policy):
    file = official(server.gives(Answer()))
    for mirror in (None, server.address):
        place = Place("set", tmp_path / "downloads", mirror=mirror, offline=True)
        message = (
            "data.bin: there is no source to download it from. To add it by hand: .* put it at FOLDER/set/data.bin in"
        )
        fails(file, place, retry_policy, message)
    assert server.requests == []

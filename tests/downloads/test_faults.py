"""Faults of servers, disks and users during a download, which recovers or ends with one clear error.

The fixture `place` asserts after each test that no file with a final name has the wrong content.
"""

import contextlib
import dataclasses
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from loopback import CONTENT, OTHER, Answer, digest

from protocol.checks import ProtocolError
from protocol.downloads import Place, fetch

HALF = len(CONTENT) // 2


def fails(file, place, retry_policy, message):
    """Return the error message; no file may have the final name."""
    with pytest.raises(ProtocolError, match=message) as caught:
        fetch(file, place, retry_policy=retry_policy)
    assert "\n" not in str(caught.value)
    assert not place.path(file).exists()
    return str(caught.value)


def left(place, file):
    return sorted(path.name for path in place.path(file).parent.iterdir())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_that_drops_at_random_bytes(server, official, place, retry_policy, seed, ranges):
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    drops = sorted(rng.randrange(len(CONTENT)) for _ in range(6))  # more than the attempts without progress
    broken = [Answer(drop=drop, reset=rng.random() < 0.5, ranges=ranges) for drop in drops]
    file = official(server.gives(*broken, Answer(ranges=ranges)))
    assert fetch(file, place, retry_policy=retry_policy)["sha256"] == digest(CONTENT)
    assert place.path(file).read_bytes() == CONTENT
    assert left(place, file) == ["data.bin", "data.bin.json", "data.bin.json.sha256"]


FROM_HALF = f"bytes={HALF}-"
HALF_OF_OTHER = Answer(OTHER, drop=HALF)
WRONG_RANGE = Answer(status=206, ranges=False, headers={"Content-Range": "bytes 5-199999/200000"})
UNKNOWN = {"sha256": None, "size": None}
RECOVERED = {
    "interrupted": ([Answer(drop=HALF), Answer()], {}, [None, FROM_HALF]),
    "no length announced": ([Answer(length=None)], {}, [None]),
    "without ranges": ([Answer(drop=HALF, ranges=False), Answer(ranges=False)], {}, [None, FROM_HALF]),
    "changed in between": ([Answer(OTHER, drop=HALF, etag='"old"'), Answer(etag='"new"')], {}, [None, FROM_HALF]),
    "changed, no If-Range": (
        [Answer(OTHER, drop=HALF, etag='"old"'), Answer(etag='"new"', if_range=False)],
        {},
        [None, FROM_HALF, None],
    ),
    # Each half is right and the joined file wrong; the checksum reveals it, and the file is fetched again.
    "changed, not reported": ([HALF_OF_OTHER, Answer()], {}, [None, FROM_HALF, None]),
    # Without a checksum, nothing is appended that the server does not confirm.
    "no checksum, no ETag": (
        [Answer(OTHER, drop=HALF, etag=None), Answer(etag=None)],
        {"sha256": None},
        [None, None],
    ),
    "no checksum, weak ETag": (
        [Answer(OTHER, drop=HALF, etag='W/"weak"'), Answer(etag='W/"weak"')],
        {"sha256": None},
        [None, None],
    ),
    "another range": ([Answer(drop=HALF), WRONG_RANGE, Answer()], UNKNOWN, [None, FROM_HALF, None]),
    "a part longer than the file": (
        [Answer(drop=HALF, length=300_000, content=OTHER), Answer(CONTENT[: HALF // 2]), Answer()],
        {"size": None},
        [None, FROM_HALF, None],
    ),
}


@pytest.mark.parametrize("case", RECOVERED)
def test_a_fault_from_which_a_download_recovers(server, official, place, retry_policy, case):
    answers, known, ranges = RECOVERED[case]
    file = official(server.gives(*answers), **known)
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == CONTENT
    assert server.ranges() == ranges
    if case == "interrupted":
        assert server.requests[1][1]["If-Range"] == '"one"'


LAST = "the last of 4 attempts"
ENDLESS = Answer(length=None, repeats=500)
FAILED = {
    "always interrupted": (
        [Answer(drop=HALF)],
        {},
        rf"no source delivered .*/data.bin: .*{LAST}, at {HALF:,} bytes",
        4,
    ),
    "interrupted after every few bytes": (
        [Answer(drop=end) for end in range(10, 200, 10)],
        {},
        f"{LAST}, at 40 bytes",
        4,
    ),
    "truncated": ([Answer(CONTENT[:HALF], length=len(CONTENT))], {}, f"no source delivered the file: .*{LAST}", 4),
    "truncated, with its own length": (
        [Answer(CONTENT[:HALF])],
        {},
        rf"expected 200,000 bytes and sha256 {digest(CONTENT)}, got sha256 {digest(CONTENT[:HALF])} \({HALF:,} bytes\)",
        1,
    ),
    "truncated, without a length": (
        [Answer(length=None, drop=HALF), Answer()],
        {},
        rf"got sha256 {digest(CONTENT[:HALF])} \({HALF:,} bytes\)",
        1,
    ),
    "truncated unnoticed": (
        [Answer(length=None)],
        UNKNOWN,
        "the server does not send the size of the file, and neither its size nor its checksum is known",
        1,
    ),
    "endless": ([ENDLESS], {}, "/data.bin: the server sends more than 200,000 bytes. To add it by hand", 1),
    "endless, no checksum": ([ENDLESS], {"sha256": None}, "the server sends more than 200,000 bytes", 1),
    "endless, no size": ([ENDLESS], {"size": None}, "the server sends more than 300,000 bytes", 1),
    "forbidden": ([Answer(status=403)], {}, "/data.bin: HTTP status 403. To add it by hand", 1),
    "missing": ([Answer(status=404)], {}, "/data.bin: HTTP status 404. To add it by hand", 1),
    "always busy": ([Answer(status=503)], {}, rf"HTTP status 503 \({LAST}", 4),
    "always changing": (
        [HALF_OF_OTHER, Answer(), HALF_OF_OTHER, Answer()],
        {},
        f"expected .*, got sha256 {digest(OTHER[:HALF] + CONTENT[HALF:])}",
        4,
    ),
    "redirected without end": (
        [Answer(b"", status=302, headers={"Location": "/data.bin"})],
        {},
        "/data.bin: HTTP Error 302: The HTTP server returned a redirect error that would lead to an infinite loop",
        None,
    ),
    "redirected to a local file": (
        [Answer(b"", status=302, headers={"Location": "file:///etc/hosts"})],
        {},
        "Redirection to url .* is not allowed",
        1,
    ),
}


@pytest.mark.parametrize("case", FAILED)
def test_a_fault_that_ends_a_download(server, official, place, retry_policy, pauses, case):
    answers, known, message, n_requests = FAILED[case]
    file = official(server.gives(*answers), **known)
    fails(file, place, dataclasses.replace(retry_policy, most_bytes=300_000), message)
    assert n_requests in (None, len(server.requests))
    parts = ["data.bin.part", "data.bin.part.json"]
    assert left(place, file) == (parts if "interrupted" in case else [])
    assert not place.lock.exists()
    if case == "always interrupted":
        assert pauses == [1, 2, 4]


def test_a_larger_announced_size_than_the_expected_one_is_refused(server, official, place, retry_policy):
    file = official(server.gives(Answer(CONTENT + b"x")))
    place = dataclasses.replace(place, mirror=server.address)
    server.gives(Answer(CONTENT + b"x"), path="/set/data.bin")
    message = fails(file, place, retry_policy, f"the server sends more than {len(CONTENT):,} bytes")
    assert message.endswith("give its sha256 as mirror_sha256.")


def test_a_drip_is_abandoned_for_the_next_source(server, official, place, retry_policy):
    """500 bytes per second, so the transfer would take almost seven minutes."""
    file = official(server.gives(Answer(drip=True), path="/slow.bin"), server.gives(Answer()))
    start = time.monotonic()
    fetch(file, place, retry_policy=retry_policy)
    assert time.monotonic() - start < 20
    message = r"/slow.bin: only [\d,]+ bytes in \d seconds, less than 1,000 bytes per second"
    fails(official(server.address + "/slow.bin", sha256="0" * 64), place, retry_policy, message)


def test_a_wrong_file(server, official, place, retry_policy):
    file = official(server.gives(Answer(OTHER)))
    message = fails(file, place, retry_policy, f"sha256 {digest(CONTENT)}, got sha256 {digest(OTHER)}")
    assert message.startswith(
        f"data.bin: no source delivered the file: {server.address}/data.bin: expected 200,000 bytes and"
    )
    assert message.endswith(
        f"To add it by hand: get it from {server.address}/data.bin (200,000 bytes, sha256 {digest(CONTENT)}), and put "
        "it at FOLDER/set/data.bin in a folder of your choice and run with --config mirror=FOLDER."
    )


@pytest.mark.parametrize("status", [429, 503])
def test_busy_then_success(server, official, place, retry_policy, pauses, status):
    fetch(
        official(server.gives(Answer(status=status), Answer(status=status), Answer())), place, retry_policy=retry_policy
    )
    assert pauses == [1, 2]


def test_retry_after_is_followed_within_limits(server, official, place, retry_policy, pauses):
    busy = [Answer(status=503, headers={"Retry-After": seconds}) for seconds in ("7", "3600")]
    fetch(official(server.gives(*busy, Answer())), place, retry_policy=retry_policy)
    assert pauses == [7, 30]


def test_a_redirect(server, official, place, retry_policy):
    server.gives(Answer(), path="/elsewhere")
    file = official(server.gives(Answer(b"moved", status=302, headers={"Location": "/elsewhere"})))
    fetch(file, place, retry_policy=retry_policy)


@pytest.mark.parametrize("stall", [0, HALF], ids=["before the first byte", "in the middle"])
def test_an_endless_stall(server, official, place, retry_policy, stall):
    file = official(server.gives(Answer(stall=stall), Answer()))
    fails(file, place, dataclasses.replace(retry_policy, attempts=1), "no data for 1 seconds")
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None, f"bytes={stall}-" if stall else None]


@pytest.mark.parametrize("size", [len(CONTENT), None], ids=["size known", "size announced"])
def test_too_little_space(server, official, place, retry_policy, monkeypatch, size):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**6, 10**6 - 1000, 1000))
    file = official(server.gives(Answer()), size=size)
    fails(
        file, place, retry_policy, f"not enough disk space in {place.folder}.*: expected 200,000 free bytes, got 1,000"
    )
    assert left(place, file) == []


@pytest.fixture
def small_files():
    """Limit the size of files to half of the content."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_fills_up_during_the_transfer(server, official, place, retry_policy, small_files):
    file = official(server.gives(Answer()))
    fails(file, place, retry_policy, "data.bin: can't be written: the file-size limit is reached")


def test_a_download_resumes_when_a_full_disk_has_space_again(server, official, place, retry_policy, request):
    file = official(server.gives(Answer()))
    request.getfixturevalue("small_files")
    with pytest.raises(ProtocolError):
        fetch(file, place, retry_policy=retry_policy)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
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
    fails(
        official(missing, wrong),
        place,
        retry_policy,
        f"/a: HTTP status 404; .*/b: expected .*, got sha256 {digest(OTHER)}",
    )


def test_an_unknown_host(official, place, retry_policy, pauses):
    unknown = f"http://{'x' * 64}.invalid/data.bin"  # longer than names may be, so no server is contacted
    fails(official(unknown), place, retry_policy, "idna|[Nn]ame")
    assert pauses == []


SCRIPT = """
import sys
from pathlib import Path
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


def wait_for(condition):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_a_killed_download_leaves_its_part_and_the_next_run_resumes(server, official, place, retry_policy):
    url = server.gives(Answer(stall=HALF), Answer())
    file = official(url)
    part = place.path(file).with_name("data.bin.part")
    with fetching(url, place) as process:
        wait_for(lambda: part.exists() and part.stat().st_size > HALF // 2)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert left(place, file) == ["data.bin.part", "data.bin.part.json"]
    fetched = part.stat().st_size
    assert part.read_bytes() == CONTENT[:fetched]
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None, f"bytes={fetched}-"]


def test_killed_between_the_last_byte_and_the_rename(server, official, place, retry_policy):
    file = official(server.gives(Answer(drop=HALF), Answer()))
    fetch(file, place, retry_policy=retry_policy)
    part = place.path(file).with_name("data.bin.part")
    place.path(file).rename(part)
    origin = {"url": file.urls[0], "etag": '"one"', "modified": "", "size": len(CONTENT)}
    part.with_name("data.bin.part.json").write_text(json.dumps(origin))
    fetch(file, place, retry_policy=retry_policy)
    assert len(server.requests) == 2


def test_a_part_without_a_readable_origin_is_not_resumed(server, official, place, retry_policy):
    file = official(server.gives(Answer()))
    part = place.path(file).with_name("data.bin.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(OTHER[:HALF])
    part.with_name("data.bin.part.json").write_text('{"url": ')
    fetch(file, place, retry_policy=retry_policy)
    assert server.ranges() == [None]


def test_two_processes_fetch_the_same_file_once(server, official, place, retry_policy):
    url = server.gives(Answer(stall=HALF), Answer())
    file = official(url)
    part = place.path(file).with_name("data.bin.part")
    with fetching(url, place) as first:
        wait_for(lambda: part.exists() and part.stat().st_size > HALF // 2)
        others = [
            threading.Thread(target=fetch, args=(file, place), kwargs={"retry_policy": retry_policy}) for _ in range(3)
        ]
        for other in others:
            other.start()
        time.sleep(0.2)
        assert len(server.requests) == 1
        first.kill()
    for other in others:
        other.join()
    assert len(server.requests) == 2
    assert place.path(file).read_bytes() == CONTENT
    assert left(place, file) == ["data.bin", "data.bin.json", "data.bin.json.sha256"]


def test_a_proxy_from_the_environment_is_used(server, official, place, retry_policy, monkeypatch):
    url = "http://behind.invalid/data.bin"
    server.answers[url] = [Answer()]  # requests to a proxy contain the complete address
    monkeypatch.setenv("http_proxy", server.address)
    fetch(official(url), place, retry_policy=retry_policy)
    assert [path for path, _ in server.requests] == [url]


def test_ftp_restarts_after_an_interruption(ftp, official, place, retry_policy):
    ftp.drops = [HALF]
    file = official(ftp.url, sha256=None, size=None)
    fetch(file, place, retry_policy=retry_policy)
    assert place.path(file).read_bytes() == CONTENT


def test_ftp_without_any_size_is_refused(ftp, official, place, retry_policy):
    ftp.announces = False
    file = official(ftp.url, sha256=None, size=None)
    fails(file, place, retry_policy, "the server does not send the size of the file")


def test_offline_touches_no_network(server, official, tmp_path, retry_policy):
    file = official(server.gives(Answer()))
    for mirror, put in ((None, "FOLDER/set/data.bin in"), (server.address, "FOLDER/set/data.bin in")):
        place = Place("set", tmp_path / "downloads", mirror=mirror, offline=True)
        fails(
            file,
            place,
            retry_policy,
            f"data.bin: there is no source to download it from. To add it by hand: get it from .*, and put it at {put}",
        )
    assert server.requests == []

"""Fixtures for the tests of downloads, with a check for bad files after every test."""

import json

import pytest
from loopback import CONTENT, FtpServer, WebServer, digest, running

from protocol.downloads import File, Place, RetryPolicy


@pytest.fixture
def server():
    with running(WebServer()) as started:
        yield started
        started.stopped.set()


@pytest.fixture
def ftp():
    with running(FtpServer()) as started:
        yield started


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for scheme in ("http", "https", "ftp", "all", "no"):
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def retry_policy(pauses):
    """Pauses that are only recorded, and the usual timeout, which no busy machine exceeds; 960 bytes are progress."""
    return RetryPolicy(rate=16, sleep=pauses.append)


@pytest.fixture
def official():
    """The file, of known checksum, at some URLs."""
    return lambda *urls, **known: File("data.bin", urls, **{"sha256": digest(CONTENT), "size": len(CONTENT)} | known)


@pytest.fixture
def place(tmp_path):
    """A dataset's place; after the test, no file with a final name may have the wrong content."""
    made = Place("set", tmp_path / "downloads")
    yield made
    recorded = [json.loads(line)["sha256"] for line in made.lock.read_text().splitlines()] if made.lock.exists() else []
    for path in made.folder.rglob("*"):
        if path.is_file() and not path.name.endswith((".part", ".json", ".json.sha256")):
            good = recorded if path.parent.name == "recorded" else [path.parent.name]
            assert digest(path.read_bytes()) in good, f"bad file under a final name: {path}"

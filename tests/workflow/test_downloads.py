"""The target `downloads`: only the needed files; offline, after a kill, and later without the mirror."""

import hashlib
import json
import os
import signal
import subprocess
import time

import pytest
from loopback import CONTENT, OTHER, Answer, WebServer, running
from project import SMALL

from protocol.provenance import storage

pytestmark = pytest.mark.ci

DATASET = '''
"""Two files of which only one has a checksum."""

import numpy as np

from protocol.datasets import Data
from protocol.downloads import File
from protocol.registry import DatasetRecord


@DatasetRecord("made",
    source="this test",
    files=(
        File("known.bin", ("{address}/known.bin",), "{sha256}", {size}),
        File("recorded.bin", ("{address}/recorded.bin",), None, None, by_hand="ask the author"),
    ),
    statistics={{"n": 1000, "classes": 0, "image_shape": (1, 1)}},
)
def load(paths):
    """Each pixel is a byte of the file."""
    pixels = np.frombuffer(paths["known.bin"].read_bytes(), dtype=np.uint8)[:1000].reshape(-1, 1, 1)
    return Data(images=pixels, labels=None, ids=np.arange(1000).astype(str))
'''


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running(WebServer()) as started:
        started.gives(Answer(), path="/known.bin")
        started.gives(Answer(OTHER), path="/recorded.bin")
        yield started
        started.stopped.set()


@pytest.fixture
def made(project, server):
    """A project whose experiment reads a dataset from the server."""
    plugin = DATASET.format(address=server.address, sha256=hashlib.sha256(CONTENT).hexdigest(), size=len(CONTENT))
    (project.folder / "protocol" / "datasets" / "made.py").write_text(plugin)
    project.write(SMALL | {"dataset": "made"})
    return project


def archives(project):
    folder = project.folder / "results" / "downloads" / "made"
    return {path.name: path for path in folder.rglob("*.bin")}


def succeeds(done):
    assert done.returncode == 0, done.stdout + done.stderr


def test_download_fetches_what_the_experiment_needs_and_nothing_else(made, server):
    assert made.jobs("downloads") == {"downloads": 1, "download": 2}
    made.write(SMALL, "digits.yaml")  # which has no files
    assert "download" not in made.jobs("downloads", config="digits.yaml")
    done = made.run("downloads", "--config", "offline=true", cores=1)
    assert done.returncode != 0
    assert "error: offline: files of dataset 'made' are missing: known.bin: To add it by hand: get it" in done.stderr
    assert "recorded.bin: To add it by hand: ask the author, and put it at FOLDER/made/recorded.bin" in done.stderr
    assert "Traceback" not in done.stderr
    assert server.requests == []
    assert archives(made) == {}
    succeeds(made.run("downloads"))
    assert sorted(path for path, _ in server.requests) == ["/known.bin", "/recorded.bin"]
    assert {name: path.read_bytes() for name, path in archives(made).items()} == {
        "known.bin": CONTENT,
        "recorded.bin": OTHER,
    }
    results = made.folder / "results"
    written = [path.relative_to(results) for path in results.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in written if path.parent.name != "code"} == {"downloads", "downloads.lock"}
    (line,) = (made.folder / "results" / "downloads.lock").read_text().splitlines()
    assert json.loads(line)["file"] == "made/recorded.bin"
    assert made.jobs("downloads") == {}


def test_later_runs_need_no_mirror_for_downloaded_files(made, server, tmp_path):
    mirror = tmp_path / "mirror" / "made"
    mirror.mkdir(parents=True)
    (mirror / "known.bin").write_bytes(CONTENT)
    (mirror / "recorded.bin").write_bytes(OTHER)
    config = SMALL | {"dataset": "made", "mirror": str(mirror.parent), "offline": True}
    made.write(config)
    succeeds(made.run("downloads"))
    before = {name: path.stat().st_mtime_ns for name, path in archives(made).items()}
    for path in mirror.iterdir():
        path.unlink()
    made.write(config | {"experiment": "later"})
    succeeds(made.run("results/datasets/made/items.h5"))
    provenance = storage.read_provenance(made.data / "items.h5")
    assert [file["source"] for file in provenance["sources"]] == [f"{mirror}/{name}" for name in sorted(before)]
    assert any(
        "recorded.bin has no official checksum and was not downloaded from an official" in note
        for note in provenance["notes"]
    )
    assert {name: path.stat().st_mtime_ns for name, path in archives(made).items()} == before
    assert server.requests == []


def test_a_killed_download_is_resumed(made, server):
    server.gives(Answer(stall=len(CONTENT) // 2), Answer(), path="/known.bin")
    command = made.command("downloads", "--cores", "2", "--configfile", "small.yaml")
    with subprocess.Popen(
        command, cwd=made.folder, env=made.environment(), stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        while not (parts := [*made.folder.rglob("known.bin.part")]) or parts[0].stat().st_size == 0:
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert "known.bin" not in archives(made)
    kept = parts[0].stat().st_size
    succeeds(made.run("--unlock"))
    succeeds(made.run("downloads", "--rerun-incomplete"))
    assert archives(made)["known.bin"].read_bytes() == CONTENT
    ranges = [headers.get("Range") for path, headers in server.requests if path == "/known.bin"]
    assert ranges == [None, f"bytes={kept}-"]

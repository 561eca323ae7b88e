"""The target `downloads`: only the needed files, a download that is killed, and later runs without the source."""

import hashlib
import os
import signal
import subprocess

import pytest
import web
from project import SMALL
from web import Answer

from protocol.provenance import storage

pytestmark = pytest.mark.ci

CONTENT, OTHER = bytes(range(256)) * 800, bytes(range(255, -1, -1)) * 800
FILES = {"known.bin": CONTENT, "recorded.bin": OTHER}
DATASET = '''
"""Two files of which only one has a checksum."""

import numpy as np

from protocol.datasets import Data, File
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
    with web.running() as started:
        started.answers |= {f"/{name}": Answer(content) for name, content in FILES.items()}
        yield started


@pytest.fixture
def made(project, server):
    """A project whose experiment reads a dataset from the server."""
    plugin = DATASET.format(address=server.address, sha256=hashlib.sha256(CONTENT).hexdigest(), size=len(CONTENT))
    (project.folder / "protocol" / "datasets" / "made.py").write_text(plugin)
    project.write(SMALL | {"dataset": "made"})
    return project


def downloaded(project):
    return {path.name: path.read_bytes() for path in (project.folder / "results" / "downloads").rglob("*.bin")}


def test_only_needed_files_a_killed_download_leaves_none_and_later_runs_need_no_source(made, server):
    made.write(SMALL, "digits.yaml")  # which has no files
    assert "download" not in made.jobs("downloads", config="digits.yaml")
    assert made.jobs("downloads") == {"downloads": 1, "download": 2}
    # in any order of the two files
    done = made.run("downloads", "--keep-going", "--config", "offline=true", cores=1, fails=True)
    assert "error: known.bin: offline: there is no source" in done.stderr
    assert "Traceback" not in done.stderr
    server.answers["/known.bin"] = Answer(CONTENT[:5000], length=len(CONTENT), stalls=True)
    command = made.command("downloads", "--cores", "2", "--configfile", "small.yaml")
    with subprocess.Popen(
        command, cwd=made.folder, env=made.environment(), stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        server.stalled.wait()
        os.killpg(process.pid, signal.SIGKILL)
    assert "known.bin" not in downloaded(made)
    server.answers["/known.bin"] = Answer(CONTENT)
    made.run("--unlock")
    made.run("downloads", "--rerun-incomplete")
    assert downloaded(made) == FILES
    assert "  made/recorded.bin" in (made.folder / "results" / "downloads.lock").read_text()
    assert made.jobs("downloads") == {}
    # Other experiments load the dataset without its source.
    made.write(SMALL | {"dataset": "made", "experiment": "later", "offline": True})
    server.requests.clear()
    made.run("results/datasets/made/items.h5")
    provenance = storage.read_provenance(made.data / "items.h5")
    assert [file["source"] for file in provenance["sources"]] == [f"{server.address}/{name}" for name in FILES]
    assert server.requests == []

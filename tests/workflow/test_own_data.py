"""The commands of docs/how-to/run-on-your-own-data.md on small made files."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
import yaml
from project import ROOT, Results
from sklearn.metrics import average_precision_score

from protocol.cli import main
from protocol.provenance import storage

pytestmark = pytest.mark.ci
PAGE = (ROOT / "docs" / "how-to" / "run-on-your-own-data.md").read_text()
IMAGES, FEATURES, _, CODES = (shlex.split(command) for command in re.findall(r"^```sh\n(.+?)\n```$", PAGE, re.M))
PER_CLASS = 150


@pytest.fixture
def results(here):
    """A folder in which the commands of the page find the workflow, and the working directory."""
    for name in ("config", "workflow", "protocol"):
        (here / name).symlink_to(ROOT / name)
    (here / "my").mkdir()
    return Results(here)


def configured(command):
    """Return the configuration of a command of the page, which Snakemake can plan as it stands."""
    done = subprocess.run([sys.executable, "-m", *command, "-n"], capture_output=True, text=True)
    assert "Job stats" in done.stdout + done.stderr
    _, _, file, _, change = command
    key, _, value = change.partition("=")
    return yaml.safe_load(Path(file).read_text()) | {key: yaml.safe_load(value)}


def made_images(folder):
    """Write three classes of images, stripes of three directions, in three formats and sizes."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("across", "down", "slanted")):
        (folder / name).mkdir(parents=True)
        y, x = np.mgrid[:24, : 24 + 8 * number]
        for image in range(PER_CLASS):
            wave = 127 + 90 * np.sin(((y, x, x + y)[number] + rng.integers(8)) * rng.uniform(0.5, 0.9))
            noisy = np.clip(wave + rng.normal(0, 12, wave.shape), 0, 255).astype(np.uint8)
            extension = (".png", ".jpg", ".bmp")[image % 3]
            (folder / name / f"{image}{extension}").write_bytes(cv2.imencode(extension, noisy)[1].tobytes())
    (folder / "notes.txt").write_text("no image")


def test_images(results):
    made_images(Path("my/images"))
    config = configured(IMAGES)
    results.stages(config, "all")
    metrics = pd.read_csv("results/image_folder/metrics.csv")
    found = metrics.query("metric == 'mAP' and ground_truth == 'class_label' and extension == 'none'")["value"]
    assert len(found) > 0
    assert found.mean() > 0.5  # by chance 0.33
    page = Path("results/image_folder/report.html").read_text()
    assert "files in the folder that are not images and were skipped: 1" in page
    assert results.planned(config, "all") == {}
    Path("my/images/down/0.png").unlink()
    assert results.planned(config, "dataset") == {"dataset": 1}


def test_features(results):
    rng, labels = np.random.default_rng(0), np.arange(450) % 5
    centres = rng.normal(0, 3, (5, 80))
    X = (centres[labels] + rng.normal(0, 1, (450, 80)) + 5).astype(np.float32)
    np.save("my/features.npy", X)
    np.save("my/labels.npy", labels)
    config = configured(FEATURES)
    results.stages(config, "all")
    metrics = pd.read_csv("results/arrays/metrics.csv")
    found = metrics.query("metric == 'mAP' and ground_truth == 'class_label' and hasher == 'itq'")["value"]
    assert found.min() > 0.9  # the clusters are far apart
    for split in ("standard", "improved"):  # the vectors themselves, which are not centred
        parts = storage.read(f"results/arrays/splits/{split}/run1/splits.h5")
        sides = [X[parts[part]].astype(np.float64) for part in ("query", "database")]
        query, database = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in sides)
        expected = [
            average_precision_score(labels[parts["database"]] == label, row)
            for label, row in zip(labels[parts["query"]], query @ database.T, strict=True)
        ]
        (own,) = metrics.query("metric == 'mAP' and hasher == 'unhashed' and split == @split and run == 1")["value"]
        assert own == pytest.approx(np.mean(expected), abs=1e-6)
    assert results.planned(config, "all") == {}
    np.save("my/labels.npy", (labels + 1) % 5)
    assert results.planned(config, "all")["dataset"] == 1
    assert {"report", "paper"} <= results.planned(config, "paper").keys()  # both are of one experiment


def test_codes(results, capsys):
    rng = np.random.default_rng(0)
    labels = {"query": np.arange(20) % 4, "database": np.arange(200) % 4}
    bits = rng.integers(0, 2, (4, 32))
    for side, y in labels.items():
        np.save(f"my/{side}_codes.npy", bits[y] ^ (rng.random((len(y), 32)) < 0.05))
        np.save(f"my/{side}_labels.npy", y)
    assert CODES[0] == "protocol"
    assert main(CODES[1:]) == 0
    assert re.search(r"mAP\s+(0\.9|1\.0)", capsys.readouterr().out)

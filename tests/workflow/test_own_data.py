"""The commands of docs/how-to/run-on-your-own-data.md, run as they stand there on small made files."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.ci
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "run-on-your-own-data.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.+?)\n```$", PAGE, re.M)
PER_CLASS = 150


@pytest.fixture
def project(project):
    """A copy of the project with the link by which Snakemake finds the default profile."""
    (project.folder / "profiles").symlink_to("workflow/profiles")
    return project


def run(project, command):
    """Run a command of the page in the project's folder, with this Python's programs."""
    program, *arguments = shlex.split(command)
    return subprocess.run(
        [sys.executable, "-m", program, *arguments],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_there_are_three():
    assert [shlex.split(command)[0] for command in COMMANDS] == ["snakemake", "snakemake", "protocol"]


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


def test_images(project):
    made_images(project.folder / "my" / "images")
    done = run(project, COMMANDS[0])
    assert done.returncode == 0, done.stdout + done.stderr
    results = project.folder / "results" / "image_folder"
    metrics = pd.read_csv(results / "metrics.csv")
    found = metrics.query("metric == 'mAP' and ground_truth == 'class_label' and extension == 'none'")["value"]
    assert len(found) > 0
    assert found.mean() > 0.5  # by chance 0.33
    page = (results / "report.html").read_text()
    assert "1 file in the folder is not an image and was skipped" in page
    assert "a row for each class: across, down, slanted" in page
    again = project.jobs("--config", "dataset_options={folder: my/images}", config="workflow/config/image_folder.yaml")
    assert again == {}
    (project.folder / "my" / "images" / "down" / "0.png").unlink()
    again = project.jobs("--config", "dataset_options={folder: my/images}", config="workflow/config/image_folder.yaml")
    assert again["dataset"] == 1


def test_features(project):
    own = project.folder / "my"
    own.mkdir()
    rng = np.random.default_rng(0)
    labels = np.arange(450) % 5
    centres = rng.normal(0, 3, (5, 80))
    np.save(own / "features.npy", centres[labels] + rng.normal(0, 1, (450, 80)))
    np.save(own / "labels.npy", labels)
    done = run(project, COMMANDS[1])
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = pd.read_csv(project.folder / "results" / "arrays" / "metrics.csv")
    found = metrics.query("metric == 'mAP' and ground_truth == 'class_label' and hasher == 'itq'")["value"]
    assert found.min() > 0.9  # the clusters are far apart
    command = ["--config", "dataset_options={features: my/features.npy, labels: my/labels.npy}"]
    assert project.jobs(*command, config="workflow/config/arrays.yaml") == {}
    np.save(own / "labels.npy", (labels + 1) % 5)
    assert project.jobs(*command, config="workflow/config/arrays.yaml")["dataset"] == 1


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((400, 80), "the database is empty: .* train 200 use all 400 items."),
        ((1000, 8), "n_bits: expected at most 8 for hasher 'itq', .* got 64[.]"),
    ],
)
def test_too_few_items_or_features_are_refused_in_one_line(project, shape, reason):
    own = project.folder / "my"
    own.mkdir()
    np.save(own / "features.npy", np.random.default_rng(0).normal(size=shape))
    np.save(own / "labels.npy", np.arange(shape[0]) % 2)
    done = run(project, COMMANDS[1])
    assert done.returncode != 0
    assert len([line for line in done.stderr.splitlines() if re.search(f"{reason}$", line)]) == 1, done.stderr
    assert not (project.folder / "results" / "arrays").exists()


def test_codes(project):
    own = project.folder / "my"
    own.mkdir()
    rng = np.random.default_rng(0)
    labels = {"query": np.arange(20) % 4, "database": np.arange(200) % 4}
    bits = rng.integers(0, 2, (4, 32))
    for side, y in labels.items():
        np.save(own / f"{side}_codes.npy", bits[y] ^ (rng.random((len(y), 32)) < 0.05))
        np.save(own / f"{side}_labels.npy", y)
    done = run(project, COMMANDS[2])
    assert done.returncode == 0, done.stderr
    assert re.search(r"mAP\s+(0\.9|1\.0)", done.stdout), done.stdout

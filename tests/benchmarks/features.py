"""Speed and memory of the features, run by hand: `python tests/benchmarks/features.py --help`.

Absolute figures move with the machine, so what is compared is measured in one run, in turns, on one core, and the best
turn counts. GIST stands beside the inverse Fourier transforms that its textbook form needs, and beside a loop over
images; dense SIFT beside OpenCV's on the same grid; bag of words is divided into its steps.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import scipy.fft
from threadpoolctl import threadpool_limits

from protocol import registry
from protocol.datasets import cifar10
from protocol.features.bow import BagOfWords
from protocol.features.dense_sift import DenseSift
from protocol.features.gist import Gist
from protocol.provenance import storage

SCRIPT = Path(__file__).parents[2] / "workflow" / "scripts" / "feature.py"
SIZE = 32  # pixels a side


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def best(running: dict[str, tuple[Callable[[], object], int]], turns: int) -> dict[str, float]:
    """Return items per second of each, in the best of its turns; the second number is how many items it works on."""
    seconds = dict.fromkeys(running, np.inf)
    for _ in range(turns + 1):  # the first loads and compiles
        for name, (run, _) in running.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return {name: running[name][1] / seconds[name] for name in running}


def walk(feature, images) -> None:
    for _ in feature.extract(images):
        pass


def inverse_transforms(n: int, n_images: int) -> None:
    """Transform 32 responses of n x n back for each image, eight images at a time."""
    spectra = np.ones((8, 32, n, n), dtype=np.complex64)
    for _ in range(n_images // 8):
        scipy.fft.ifft2(spectra, workers=1)


def gist_loop(images, border: int, filters, transform, average) -> None:
    """Describe image by image, filter by filter."""
    f = scipy.fft.fftfreq(SIZE + 10) * (SIZE + 10)
    low_pass = np.exp(-(f[:, None] ** 2 + f**2) * np.log(2) / 4**2)
    inside = slice(border, border + SIZE)
    for image in images:
        grey = image.mean(axis=2)
        grey = 255 * (grey - grey.min()) / np.ptp(grey)
        padded = np.pad(np.log(1 + grey), 5, mode="symmetric")
        detail = padded - transform.ifft2(transform.fft2(padded) * low_pass).real
        contrast = np.sqrt(np.abs(transform.ifft2(transform.fft2(detail**2) * low_pass)))
        even = np.pad((detail / (0.2 + contrast))[5:-5, 5:-5], border, mode="symmetric")
        spectrum, vector = transform.fft2(even), []
        for gain in filters:
            vector.append(average(np.abs(transform.ifft2(spectrum * gain))[inside, inside]))
        np.concatenate(vector)


def cell_by_cell(response):
    """Average as the published code does."""
    edges = range(0, SIZE, SIZE // 4)
    return [response[y : y + SIZE // 4, x : x + SIZE // 4].mean() for x in edges for y in edges]


def all_cells(response):
    """Average in one call."""
    return response.reshape(4, SIZE // 4, 4, SIZE // 4).mean(axis=(1, 3)).T.ravel()


def gist(images, turns: int) -> None:
    for border in (32, 0):
        n = SIZE + 2 * border
        filters = np.ones((32, n, n))  # their values don't change the time
        few, fewest = images[:64], images[:24]
        running = {
            "ours": (partial(walk, Gist(border=border), images[:256]), 256),
            "its inverse FFTs alone": (partial(inverse_transforms, n, len(few)), len(few)),
            "numpy, image by image": (
                partial(gist_loop, fewest, border, filters, np.fft, cell_by_cell),
                len(fewest),
            ),
            "scipy, image by image, cells at once": (
                partial(gist_loop, few, border, filters, scipy.fft, all_cells),
                len(few),
            ),
        }
        _compare(f"GIST, {SIZE} x {SIZE}, border {border}", best(running, turns))


def opencv_dense(images, grid: int) -> None:
    """Describe the same patches by OpenCV, whose keypoints are at whole pixels."""
    sift, places = cv2.SIFT_create(), np.linspace(8, 24, grid)
    points = [cv2.KeyPoint(float(x), float(y), 16 / 6, 0) for y in places for x in places]
    for image in images:
        sift.compute(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), points)


def dense_sift(images, turns: int) -> None:
    for grid in (5, 9, 13):
        running = {
            "ours": (partial(walk, DenseSift(grid=grid), images), len(images)),
            "OpenCV": (partial(opencv_dense, images[:256], grid), 256),
        }
        _compare(f"dense SIFT, {grid} x {grid} patches of 16 x 16 in {SIZE} x {SIZE}", best(running, turns))


def _compare(title: str, speed: dict[str, float]) -> None:
    _say(f"\n{title}")
    for name, images in speed.items():
        _say(f"  {name:38} {images:9.0f} images/s   ours is {speed['ours'] / images:6.2f} times that")


def bag_of_words(images, n_train: int) -> None:
    feature, seconds = BagOfWords(), {}
    walk(feature, images[:64])  # loads and compiles
    start = time.perf_counter()
    raw = np.concatenate([X for X, _ in feature.extract(images)])
    seconds[f"descriptors of {len(images)} images"] = time.perf_counter() - start
    start = time.perf_counter()
    model = feature.fit(raw[:n_train], seed=0)
    seconds[f"k-means on {min(n_train * 25, feature.n_sample)} descriptors"] = time.perf_counter() - start
    start = time.perf_counter()
    feature.encode(raw, model)
    seconds[f"words of {len(images)} images"] = time.perf_counter() - start
    _say("\nbag of words")
    for name, value in seconds.items():
        _say(f"  {name:38} {value:9.2f} s")


def memory(images, name: str) -> None:
    """Print time and peak memory of a process that runs the pipeline's script, by number of images."""
    _say(f"\n{name}, from file to file")
    for n_images in [n for n in (10_000, 20_000, 40_000, 60_000) if n <= len(images)]:
        with tempfile.TemporaryDirectory() as folder:
            content, features = Path(folder, "content.h5"), Path(folder, "features.h5")
            with storage.writing(content, storage.provenance("benchmark", parameters={}, inputs={})) as file:
                for start in range(0, n_images, 1000):
                    file.append("images", images[start : start + 1000])
            command = [sys.executable, __file__, "--child", name, str(content), str(features)]
            start = time.perf_counter()
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            seconds = time.perf_counter() - start
            _say(f"  {n_images:7} images {seconds:8.1f} s {peak / 1024:8.0f} MB at most")


def child(name: str, content: str, features: str) -> None:
    """Run the script, and print the most memory this process has had, in kB."""
    spec = importlib.util.spec_from_file_location("feature", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    job = SimpleNamespace(
        params=SimpleNamespace(feature=name, options=registry.get("feature", name)().options),
        input=SimpleNamespace(content=content, get=lambda key, default: default),
        output=SimpleNamespace(features=features),
    )
    with threadpool_limits(1):
        script.main(job)
    status = Path("/proc/self/status").read_text()  # getrusage would count what the parent had before
    _say(status.partition("VmHWM:")[2].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help=f"{cifar10.ARCHIVE}; default: noise, on which k-means is slower")
    parser.add_argument("--images", type=int, default=2048, help="images to time; default: 2048")
    parser.add_argument("--train", type=int, default=2000, help="of them for k-means; default: 2000")
    parser.add_argument("--turns", type=int, default=5, help="turns of which the best counts; default: 5")
    parser.add_argument("--memory", nargs="*", metavar="FEATURE", help="show time and peak memory of these instead")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    if arguments.archive:
        images = cifar10.load({cifar10.ARCHIVE: arguments.archive}).images
    else:
        images = np.random.default_rng(0).integers(0, 256, (60_000, SIZE, SIZE, 3), dtype=np.uint8)
    if arguments.memory is not None:
        for name in arguments.memory:
            memory(images, name)
        return
    cv2.setNumThreads(1)
    with threadpool_limits(1):
        gist(images[: arguments.images], arguments.turns)
        dense_sift(images[: arguments.images], arguments.turns)
        bag_of_words(images[: max(arguments.images, arguments.train)], arguments.train)


if __name__ == "__main__":
    main()

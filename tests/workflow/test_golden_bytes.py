"""What each stage writes for the small experiment, compared with stored digests.

Digests of code (`protocol.provenance.sources`) do not cover the modules that every stage imports; `FORMAT` takes their
place. This test fails if an edit of such a module changes results. ``python tests/workflow/test_golden_bytes.py``
stores new digests.
"""

import hashlib
import json
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import h5py
import numpy as np
import yaml
from project import SMALL, Results

from protocol.provenance.sources import FORMAT

STORED = Path(__file__).with_name("golden_bytes.yaml")
FILES = yaml.safe_load(STORED.with_name("golden_files.yaml").read_text())
ADVICE = (
    "If you edited a module of the foundation (checks.py, parallel.py, provenance/ or registry/), raise FORMAT "
    "in protocol/provenance/sources.py, so that every job runs again. If you edited a module of the stage itself, its "
    "digest of code has changed already. Then store the new digests: python tests/workflow/test_golden_bytes.py"
)


def stage_digests(results: Path) -> dict[str, str]:
    """Return a digest of the files of each stage."""
    files = sorted(path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file())
    digests = {}
    for stage, patterns in FILES.items():
        paths = [file for file in files if any(fnmatch(file, pattern) for pattern in patterns)]
        assert paths, stage
        contents = [content(results / path) for path in paths]
        digests[stage] = hashlib.sha256(b"".join(contents)).hexdigest()[:16]
    return digests


def content(path: Path) -> bytes:
    """Return the bytes of a table, or the arrays, attributes and provenance of an HDF5 file.

    Versions and what depends on the last bits of a sum, which differ between machines, are left out.
    """
    if path.suffix == ".csv":
        return path.read_bytes()
    parts = []
    with h5py.File(path, "r") as file:
        record = json.loads(file.attrs["provenance"])
        parts.append(json.dumps([sorted(file.attrs), sorted(record), record["maker"], record["seed"], record["notes"]]))
        parts.append(json.dumps(record["parameters"], sort_keys=True))

        def add(name, item):
            if isinstance(item, h5py.Dataset):
                parts.append(f"{name} {item.dtype} {item.shape} {sorted(item.attrs)}")
                parts.append(hashlib.sha256(rounded(item[()]).tobytes()).hexdigest())

        file.visititems(add)
    return "\n".join(parts).encode()


def rounded(values) -> np.ndarray:
    """Return numbers to five digits of the largest; other values are returned unchanged."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or not array.size:
        return array
    return np.round(array / (np.nanmax(np.abs(array)) or 1) * 1e5) + 0.0


def test_no_stage_writes_other_bytes_without_a_new_format_version(tiny):
    stored = yaml.safe_load(STORED.read_text())
    digests = stage_digests(tiny.folder / "results")
    changed = [stage for stage in FILES if stored["stages"].get(stage) != digests[stage]]
    assert not changed, f"The results of these stages changed: {', '.join(changed)}. {ADVICE}"
    assert stored["format"] == FORMAT, "FORMAT changed. Store it: python tests/workflow/test_golden_bytes.py"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Results(Path(folder)).stages(SMALL, "all")
        stages = stage_digests(Path(folder) / "results")
    STORED.write_text(yaml.safe_dump({"format": FORMAT, "stages": stages}, sort_keys=False))

"""Files of every format, their mutations, and the results of the readers.

A mutated file is refused in one line, or accepted. An accepted one is a wrong answer if it gives other numbers although

- the format has a checksum over them: npz, compressed .mat, compressed lists, HDF5 with Fletcher-32 in the newest file
  format (but Fletcher-32 can't distinguish the words 0xFFFF and 0x0000, so a change of one to the other counts as
  `other`); or
- the file contradicts itself: the numbers are not those that an independent reading of the same bytes gives. That is
  NumPy's reader for npy and Python's own float() for CSV.

For npy, plain HDF5, uncompressed .mat, CSV and lists, a changed digit or bit in the numbers, or in the shape or type
that the header declares, is another valid file, which looks correct to every reader. These count as `other`.
"""

import gzip
import io
import struct
import time
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
from scipy import io as scipy_io

from protocol.checks import ProtocolError
from protocol.inputs import arrays, limits
from protocol.splits import read_list

FORMATS = ("npy", "npz", "h5", "mat", "csv", "lists")
SLOW = 20.0
"""Seconds after which a reader counts as hanging."""


def originals(kind, folder):
    """Write files of a format; return their paths with whether a checksum covers the numbers."""
    rng = np.random.default_rng(0)
    bits, real = rng.integers(0, 2, (12, 16)).astype(np.uint8), rng.normal(size=(9, 5)).astype(np.float32)
    match kind:
        case "npy":
            files = {"bits.npy": False, "real.npy": False, "bool.npy": False}
            for name, array in zip(files, (bits, real, bits.astype(bool)), strict=True):
                np.save(folder / name, array)
        case "npz":
            files = {"plain.npz": True, "packed.npz": True}
            np.savez(folder / "plain.npz", codes=bits)
            np.savez_compressed(folder / "packed.npz", codes=real)
        case "h5":
            files = {"plain.h5": False, "packed.h5": False, "checked.h5": True}
            with h5py.File(folder / "plain.h5", "w") as file:
                file["group/codes"] = bits
            with h5py.File(folder / "packed.h5", "w") as file:
                file.create_dataset("codes", data=real, chunks=(4, 5), compression="gzip", shuffle=True)
            with h5py.File(folder / "checked.h5", "w", libver="latest") as file:
                file.create_dataset("codes", data=bits, chunks=(5, 16), fletcher32=True)
        case "mat":
            files = {"plain.mat": False, "packed.mat": True, "7.3.mat": False}
            scipy_io.savemat(folder / "plain.mat", {"codes": real.astype(float)})
            scipy_io.savemat(folder / "packed.mat", {"codes": bits.astype(float)}, do_compression=True)
            with h5py.File(folder / "7.3.mat", "w", userblock_size=512) as file:
                file["codes"] = bits.T
        case "csv":
            files = {"bits.csv": False, "real.csv": False, "blanks.txt": False}
            np.savetxt(folder / "bits.csv", bits, fmt="%d", delimiter=",")
            np.savetxt(folder / "real.csv", real, delimiter=";")
            np.savetxt(folder / "blanks.txt", bits, fmt="%d")
        case _:
            lines = [f"images/{row:04d}.jpg {' '.join(map(str, own))}\n" for row, own in enumerate(bits.tolist())]
            files = {"labels.txt": False, "ids.txt": False, "packed.txt.gz": True, "table.csv": False}
            (folder / "labels.txt").write_text("".join(lines))
            (folder / "ids.txt").write_text("".join(f"{line.split()[0]}\n" for line in lines))
            (folder / "packed.txt.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
            (folder / "table.csv").write_text("id,0,1\n" + "".join(f"a b {row},0,1\n" for row in range(12)))
    return {folder / name: checked for name, checked in files.items()}


def mutated(content, rng):
    """Return bytes with one of nine mutations."""
    changed = bytearray(content)
    at, size = int(rng.integers(len(changed))), int(rng.integers(1, 17))
    end = min(at + size, len(changed))
    noise, extreme = (
        rng.integers(0, 256, size, dtype=np.uint8).tobytes(),
        rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]),
    )
    start, stop, inserted = (
        (at, at + 1, bytes([changed[at] ^ 1 << int(rng.integers(8))])),
        (at, at + 1, noise[:1]),
        (at, len(changed), b""),
        (at, end, bytes(end - at)),
        (at, end, noise[: end - at]),
        (at, end, b""),
        (at, at, noise),
        (at, at, changed[max(0, at - size) : at]),
        (at, at + 4, struct.pack("<I", extreme)),
    )[int(rng.integers(9))]
    changed[start:stop] = inserted
    return bytes(changed)


def same(found, right):
    """Return whether two results have the same numbers, ids and shape."""
    if isinstance(right, tuple):
        return all((a is None) == (b is None) and (a is None or same(a, b)) for a, b in zip(found, right, strict=True))
    return found.shape == right.shape and np.array_equal(found, right, equal_nan=right.dtype.kind == "f")


def independent(path, content):
    """Return the result of another reader for an accepted file; None if there is none for the format."""
    match path.suffix:
        case ".npy":
            return np.load(io.BytesIO(content), allow_pickle=False)
        case ".csv" | ".txt" if path.stem in ("bits", "real", "blanks"):
            text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
            lines = [line for line in text.split("\n") if line.strip()]
            mark = next((mark for mark in ",;" if mark in lines[0]), None)
            return np.array([[float(word) for word in line.split(mark)] for line in lines])
        case _:
            return None


def _same_fletcher(found, right):
    """Return whether the bytes differ only in words 0xFFFF and 0x0000, which are the same to Fletcher-32."""
    words = [np.frombuffer(array.tobytes(), "<u2") for array in (found, right)]
    return found.shape == right.shape and np.array_equal(*(np.where(own == 0xFFFF, 0, own) for own in words))


class Fuzz:
    """Counts of the outcomes for mutated files of one format."""

    def __init__(self, kind, folder, *, seed=0):
        self.kind, self.folder, self.counts, self.findings = kind, Path(folder), Counter(), []
        self._rng = np.random.default_rng([seed, FORMATS.index(kind)])
        self._files = [
            (path, checked, path.read_bytes(), self.read(path))
            for path, checked in originals(kind, self.folder).items()
        ]

    def read(self, path):
        return read_list(path) if self.kind == "lists" else arrays.read_array(path)

    def run(self, n, monkeypatch):
        """Read `n` mutated files."""
        monkeypatch.setattr(limits, "HDF5_SECONDS", SLOW)
        for number in range(n):
            self._one(*self._files[number % len(self._files)])
        return self.counts

    def _one(self, original, checked, content, right):
        changed = mutated(content, self._rng)
        path = self.folder / "mutated" / original.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(changed)
        start = time.monotonic()
        try:
            found = self.read(path)
        except ProtocolError as error:
            outcome = "refused" if str(error).isprintable() else "tracebacks"
            if "crashes the HDF5 library" in str(error):
                outcome = "refused after a crash of the reading process"
            if "takes longer than" in str(error):
                outcome = "refused after the time limit"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            outcome = "tracebacks"
            self.findings.append((original.name, repr(error)[:200], changed))
        else:
            outcome = self._judged(path, changed, found, right, checked)
            if outcome == "wrong answers":
                self.findings.append((original.name, "wrong answer", changed))
        if time.monotonic() - start > SLOW + 10:
            self.counts["hangs"] += 1
        self.counts[outcome] += 1

    def _judged(self, path, content, found, right, checked):
        if same(found, right):
            return "same numbers"
        if checked:
            return "other valid files" if path.suffix == ".h5" and _same_fletcher(found, right) else "wrong answers"
        other = independent(path, content) if self.kind != "lists" else None
        return "wrong answers" if other is not None and not same(found, other) else "other valid files"

"""Damaged files of every format: each is refused in one line that names it, or read as what it has become."""

import gzip

import h5py
import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from protocol.checks import ProtocolError
from protocol.inputs.arrays import read_array, read_stored
from protocol.splits import read_list

BITS = np.random.default_rng(0).integers(0, 2, (12, 16)).astype(np.uint8)
REAL = np.random.default_rng(1).normal(size=(9, 5)).astype(np.float32)
LINES = "".join(f"images/{row:04d}.jpg {' '.join(map(str, bits))}\n" for row, bits in enumerate(BITS.tolist()))
N = 300


def originals(folder):
    """Write files of every format; return their names, each with its reader and whether a checksum covers it."""
    np.save(folder / "bits.npy", BITS)
    np.save(folder / "words.npy", np.array(["cat", "owl"]))
    np.savez(folder / "plain.npz", codes=BITS)
    np.savez_compressed(folder / "packed.npz", codes=REAL)
    sparse.save_npz(folder / "sparse.npz", sparse.csr_array(BITS))
    with h5py.File(folder / "plain.h5", "w") as file:
        file["group/codes"] = BITS
    with h5py.File(folder / "packed.h5", "w") as file:
        file.create_dataset("codes", data=REAL, chunks=(4, 5), compression="gzip", shuffle=True)
    with h5py.File(folder / "words.h5", "w") as file:
        file["words"] = ["cat", "owl"]
    scipy_io.savemat(folder / "plain.mat", {"codes": REAL.astype(float)})
    scipy_io.savemat(folder / "packed.mat", {"codes": BITS.astype(float)}, do_compression=True)
    with h5py.File(folder / "7.3.mat", "w", userblock_size=512) as file:
        file["codes"] = BITS.T
    np.savetxt(folder / "bits.csv", BITS, fmt="%d", delimiter=",")
    np.savetxt(folder / "real.txt", REAL)
    BITS.astype("<f4").tofile(folder / "body")
    header = np.array([12, 16], "<u4").tobytes()
    (folder / "bits.fbin").write_bytes(header + (folder / "body").read_bytes())
    (folder / "body").unlink()
    (folder / "list.txt").write_text(LINES)
    (folder / "list.txt.gz").write_bytes(gzip.compress(LINES.encode(), mtime=0))
    readers = {"words.npy": read_stored, "words.h5": read_stored, "list.txt": read_list, "list.txt.gz": read_list}
    checked = {"plain.npz", "packed.npz", "packed.mat", "list.txt.gz"}
    return {path.name: (readers.get(path.name, read_array), path.name in checked) for path in folder.iterdir()}


def damaged(content, others, rng, *, anywhere):
    """Return bytes cut short, with some flipped, inserted or missing, or those of another format."""
    changed, kind = bytearray(content), int(rng.integers(6 if anywhere else 2))
    start, size = int(rng.integers(len(changed))), int(rng.integers(1, 17))
    noise = rng.integers(0, 256, size, dtype=np.uint8).tobytes()
    if kind == 0:
        del changed[start:]
    elif kind == 1:
        return others[int(rng.integers(len(others)))]
    elif kind == 2:
        changed[start] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        changed[start : start + size] = noise
    elif kind == 4:
        del changed[start : start + size]
    else:
        changed[start:start] = noise
    return bytes(changed)


def equal(a, b):
    """Return whether the results of two readings are equal; those of lists are the ids and their labels."""
    if isinstance(a, tuple):
        return all(map(equal, a, b))
    return np.array_equal(a, b)


@pytest.mark.parametrize(
    "name",
    [
        "bits.npy",
        "words.npy",
        "plain.npz",
        "packed.npz",
        "sparse.npz",
        "plain.h5",
        "packed.h5",
        "words.h5",
        "plain.mat",
        "packed.mat",
        "7.3.mat",
        "bits.csv",
        "real.txt",
        "bits.fbin",
        "list.txt",
        "list.txt.gz",
    ],
)
def test_a_damaged_file_is_refused_in_one_line_or_read(tmp_path, name):
    files, rng = originals(tmp_path), np.random.default_rng(7)
    read, checked = files[name]
    content, original = (tmp_path / name).read_bytes(), read(tmp_path / name)
    others = [path.read_bytes() for path in sorted(tmp_path.iterdir()) if path.suffix != (tmp_path / name).suffix]
    n_refused = 0
    for _ in range(N):
        # SciPy crashes the process on an unknown type of numbers in a .mat file, of which an uncompressed one has no
        # checksum, so only its end is damaged.
        (tmp_path / name).write_bytes(damaged(content, others, rng, anywhere=name != "plain.mat"))
        try:
            result = read(tmp_path / name)
        except ProtocolError as error:
            message = str(error)
        else:
            assert not checked or equal(result, original)
            continue
        n_refused += 1
        assert message.isprintable()
        assert message.startswith(f"{tmp_path / name}: ")
    assert n_refused > N / 5

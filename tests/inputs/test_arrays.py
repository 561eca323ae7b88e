"""Arrays from files: all formats give the same content, and the declarations in files are verified."""

import io
import pickle
import re
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from encoded import message_of, yaml_of
from scipy import io as scipy_io
from scipy import sparse

from protocol.checks import ProtocolError
from protocol.inputs import text
from protocol.inputs.arrays import path_of, read_array, read_lists, read_stored, shape_with_ids
from protocol.inputs.formats import read_csr

CASES = yaml_of("inputs/arrays.yaml")
ARRAY = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)


class Touch:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def header(shape, dtype="|u1"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def written(folder, name):
    """Write ARRAY in a format; return the name by which a user would pass the file."""
    path = folder / name.partition(":")[0]
    key = name.partition(":")[2]
    if name.endswith(".npy"):
        np.save(path, ARRAY)
    elif path.suffix == ".npz":
        np.savez_compressed(path, **{key or "only": ARRAY, **({"other": np.zeros(2)} if key else {})})
    elif path.suffix in (".h5", ".hdf5"):
        with h5py.File(path, "w") as file:
            file[key or "only"] = ARRAY
    elif path.suffix == ".mat" and "7.3" in path.stem:
        with h5py.File(path, "w", userblock_size=512) as file:
            file[key] = ARRAY.T
        write_header(path)
    elif path.suffix == ".mat":
        scipy_io.savemat(path, {key: ARRAY.astype(float), "other": np.zeros(2)}, do_compression=True)
    else:
        path.write_text(CSV[name])
    return folder / name


CSV = CASES["texts"]


def write_header(path):
    """Write the header of MATLAB, version 7.3, into the user block of an HDF5 file."""
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")


def refused(file, message, read=read_array):
    with pytest.raises(ProtocolError, match=message) as error:
        read(file)
    assert str(error.value).isprintable()


FORMATS = "a.npy a.npz a.npz:B a.npz:B.1 a.h5 a.h5:run/B a.h5:/run/B a.hdf5:B a.mat:B 7.3.mat:B".split()  # noqa: SIM905


@pytest.mark.parametrize("name", [*FORMATS, *CSV])
def test_every_format_gives_the_same(tmp_path, name):
    file = written(tmp_path, name)
    np.testing.assert_array_equal(read_array(file), ARRAY)
    assert shape_with_ids(file)[0] in (None, ARRAY.shape)
    if name.startswith("quoted"):
        assert shape_with_ids(file)[1][0] == ("S, 1" if name.endswith("csv") else "S, 1 a")


def test_a_header_that_was_read_is_shown(tmp_path, caplog):
    caplog.set_level("INFO", "protocol.inputs")
    for name in ("commas.csv", "savetxt.txt", "ids.csv", "index_and_ids.csv"):
        read_array(written(tmp_path, name))
    index = "2 rows with ids, without the first column, which counts them (header ',sku,a,b,c')"
    assert caplog.messages == [
        f"{tmp_path}/savetxt.txt: 2 rows (header 'b0 b1 b2')",
        f"{tmp_path}/ids.csv: 2 rows with ids (header '\"ID\",b0,b1,b2')",
        f"{tmp_path}/ids.csv: its rows are taken in their order, and its ids are not used",
        f"{tmp_path}/index_and_ids.csv: {index}",
        f"{tmp_path}/index_and_ids.csv: its rows are taken in their order, and its ids are not used",
    ]
    (tmp_path / "missing.csv").write_text("NA,x\n1,2\n")
    refused(tmp_path / "missing.csv", "missing.csv, line 1: 'NA' is not a number")
    (tmp_path / "short.csv").write_text("id,x\na,2\nb\n")
    refused(tmp_path / "short.csv", "short.csv, line 3: nothing but an id.")


@pytest.mark.parametrize("header", [*CASES["first_columns"], *CASES["may_count"], "refractive_index,x,y"])
def test_a_first_column_that_counts_is_read_as_its_header_says(tmp_path, header):
    start = 0.5 if header.startswith("refractive") else 0
    numbers = np.column_stack([np.arange(start, start + 4), np.arange(8).reshape(4, 2) / 8])
    np.savetxt(tmp_path / "t.csv", numbers, "%g", ",", header=header, comments="")
    if header in CASES["may_count"]:
        refused(
            tmp_path / "t.csv", r"first column counts the rows, so it may be ids or a feature\. Write a header that beg"
        )
    else:
        read = numbers[:, 3 - CASES["first_columns"].get(header, 3) :]
        np.testing.assert_array_equal(read_array(tmp_path / "t.csv"), read)


@pytest.mark.parametrize(("columns", "header", "options"), CASES["divided"])
def test_ids_and_labels_next_to_numbers_are_refused_with_the_command_that_divides_them(here, columns, header, options):
    numbers = np.arange(12).reshape(4, 3) / 8
    table = pd.DataFrame({name: list(values) for name, values in columns.items()}).join(pd.DataFrame(numbers))
    table.to_csv("t.csv", index=False, header=header)
    message = f"t.csv: ids or labels .* next to numbers.* --features t_vectors.csv {options}--labels t_labels.csv.$"
    with pytest.raises(ProtocolError, match=message) as error:
        read_array("t.csv")
    exec(re.search('python -c "(.*)", and name', str(error.value))[1])
    np.testing.assert_array_equal(read_array("t_vectors.csv"), numbers)
    words = pd.read_csv("t_labels.csv", header=0 if header else None, dtype=str).to_numpy()
    np.testing.assert_array_equal(words, table[[name for name in columns if name]])


@pytest.mark.parametrize("name", ["a.npy", "a.npz:B", "a.h5:run/B", "a.mat:B", "7.3.mat:B", "commas.csv", "blanks.txt"])
def test_an_apostrophe_transposes(tmp_path, name):
    file = f"{written(tmp_path, name)}'"
    for read in (read_array, read_stored):
        np.testing.assert_array_equal(read(file), ARRAY.T)
    assert shape_with_ids(file)[0] in (None, ARRAY.shape[::-1])
    assert path_of(file) == tmp_path / name.partition(":")[0]


def test_what_an_apostrophe_does_not_transpose(tmp_path):
    np.save(tmp_path / "list.npy", [1, 2])
    assert read_array(f"{tmp_path}/list.npy'").tolist() == [1, 2]
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4)))
    refused(f"{tmp_path}/cube.npy'", r"cube.npy': only a matrix can be transposed, got shape \(2, 3, 4\).")
    (tmp_path / "a.csv'").write_text("1,2\n")
    assert path_of(tmp_path / "a.csv'") == tmp_path / "a.csv'"


def test_no_pickle_is_ever_loaded(tmp_path):
    touched = tmp_path / "touched"
    pickled, touch = pickle.dumps(Touch(touched)), Touch(touched)
    objects = npy(np.array([touch], dtype=object), allow_pickle=True)
    for name in ("pickle.npy", "pickle.npz", "pickle.h5", "pickle.mat", "pickle.csv"):
        (tmp_path / name).write_bytes(pickled)
    (tmp_path / "objects.npy").write_bytes(objects)
    write_zip(tmp_path / "objects.npz", {"B.npy": objects})
    write_zip(tmp_path / "renamed.npz", {"B.npy": pickled})
    write_zip(tmp_path / "sparse.npz", dict.fromkeys(("data.npy", "format.npy", "shape.npy"), objects))
    for path in tmp_path.iterdir():
        with pytest.raises(ProtocolError, match=rf"{path}: .*(never loaded|can't be read|expected numbers|not an)"):
            (read_csr if path.stem == "sparse" else read_array)(path)
    assert not touched.exists()
    pickle.loads(pickled)  # noqa: S301 - the trap is a trap
    assert touched.exists()


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "ARRAY_BYTES", 10**6)
    path = write_zip(tmp_path / "a.npz", {"B.npy": npy(np.zeros(10**7, np.uint8)), "C.npy": npy(ARRAY)})
    assert path.stat().st_size < 20_000
    refused(f"{path}:B", r"the array takes 0.00931 GiB uncompressed, more than 0.000931 GiB. Save it")
    np.testing.assert_array_equal(read_array(f"{path}:C"), ARRAY)


def test_hdf5_that_declares_too_much(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("B", shape=(10**12, 64), dtype="u1", chunks=(1024, 64))
    assert (tmp_path / "a.h5").stat().st_size < 10_000
    refused(tmp_path / "a.h5", r"the array takes 5.96e\+04 GiB uncompressed, more than 4 GiB. Save it")


@pytest.mark.parametrize("name", ["a.npz:B", "a.h5:B", "a.mat:B"])
def test_a_missing_key_lists_the_keys(tmp_path, name):
    path = str(written(tmp_path, name)).rpartition(":")[0]
    refused(f"{path}:C", r"no array 'C'. The file contains: B")
    if name == "a.npz:B":
        refused(path, r"name one of its arrays as a\.npz:KEY\. The file contains: B, other")
        write_zip(tmp_path / "a.npz", {f"k{i:02}\n\x1b[31m.npy": b"" for i in range(30)})
        refused(path, r"The file contains: 'k00\\n\\x1b\[31m', 'k01.* and 10 more\.$")


def test_anything_but_an_array_of_numbers_is_refused(tmp_path):
    scipy_io.savemat(tmp_path / "a.mat", {"cell": np.array([ARRAY, "x"], object), "complex": ARRAY * 1j})
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["objects"] = np.zeros(2, [("a", int), ("b", float)])
        file["word"], file["nothing"] = "owl", h5py.Empty("f4")
        file.create_group("group")
    (tmp_path / "folder.npy").mkdir()
    for case in CASES["refused"]:
        if "text" in case:
            (tmp_path / case["file"]).write_text(case["text"])
        refused(tmp_path / case["file"], case["message"])
    refused(tmp_path / ("x" * 300 + ".npy"), r"can't be read as an .npy file \(File name too long")
    (tmp_path / "q.json").write_text("[[0, 1]]")
    exec(re.search('python -c "(.*)"', message_of(read_array, tmp_path / "q.json"))[1])
    np.testing.assert_array_equal(read_array(tmp_path / "q.npy"), [[0, 1]])
    (tmp_path / "lists.txt").write_text("1\n0.5\n")
    refused(tmp_path / "lists.txt", "line 2: .*'0.5'", read_lists)
    (tmp_path / "lists.txt").write_bytes(b"\xff\xfe\x00")
    refused(tmp_path / "lists.txt", "can't be read as lists of database positions", read_lists)


@pytest.mark.parametrize("kind", ["csr", "coo"])
def test_sparse_matrices_of_any_format(tmp_path, kind):
    dense = np.array([[0, 2, 0], [1, 0, 1]], dtype=np.uint8)
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(dense).asformat(kind))
    rows, array = read_csr(tmp_path / "a.npz"), read_array(tmp_path / "a.npz")
    assert (rows.format, array.dtype, shape_with_ids(tmp_path / "a.npz")[0]) == ("csr", np.uint8, (2, 3))
    np.testing.assert_array_equal(rows.toarray(), dense)
    np.testing.assert_array_equal(array, dense)
    refused(written(tmp_path, "b.npz"), "not a sparse matrix of .* The file contains: only", read_csr)


def test_lists(tmp_path):
    (tmp_path / "near.txt").write_text("3 1\n\n 2,0;4\n")
    assert [row.tolist() for row in read_lists(tmp_path / "near.txt")] == [[3, 1], [], [2, 0, 4]]


def test_doubles_that_matlab_stores_as_bytes_stay_doubles(tmp_path):
    """MATLAB stores integers of class double in fewer bytes; as uint8 they could be taken for packed codes."""
    path = tmp_path / "a.mat"
    scipy_io.savemat(path, {"B": ARRAY.astype(float)})
    content = path.read_bytes()
    numbers = ARRAY.astype("<f8").tobytes(order="F")
    tag = np.array([9, len(numbers)], "<u4").tobytes()
    packed = np.array([2, ARRAY.size], "<u4").tobytes() + ARRAY.tobytes(order="F") + bytes(2)
    start = content.index(tag)
    assert content[start + 8 :] == numbers
    body = content[128 + 8 : start] + packed
    path.write_bytes(content[:128] + np.array([14, len(body)], "<u4").tobytes() + body)
    assert scipy_io.loadmat(path)["B"].dtype == np.uint8
    assert read_array(path).dtype == np.float64
    np.testing.assert_array_equal(read_array(path), ARRAY)


def test_sparse_variables_of_matlab(tmp_path):
    scipy_io.savemat(tmp_path / "a.mat", {"s": sparse.csc_matrix((10**6, 10**6))})
    refused(f"{tmp_path}/a.mat:s", "takes 7.45e\\+03 GiB uncompressed, more than 4 GiB")
    scipy_io.savemat(tmp_path / "a.mat", {"s": sparse.csc_matrix(ARRAY)})
    np.testing.assert_array_equal(read_array(tmp_path / "a.mat"), ARRAY)


def test_strings_of_every_format_are_the_same(tmp_path):
    words = ["cat", "Käse", "\U0001d538 b"]
    np.save(tmp_path / "a.npy", np.array(words))
    scipy_io.savemat(tmp_path / "a.mat", {"cell": np.array(words, object), "text": np.array(words[:2])})
    for name in ("a.npy", "a.mat:cell"):
        read = read_stored(tmp_path / name)
        assert (read.dtype.kind, read.tolist()) == ("U", words), name
        refused(tmp_path / name, "expected numbers, got dtype [<|]?[US]")
    assert read_stored(tmp_path / "a.mat:text").tolist() == words[:2]
    with h5py.File(tmp_path / "7.3.mat", "w", userblock_size=512) as file:
        file["text"] = np.array([[99, 97, 116]], "u2")
        file["text"].attrs["MATLAB_class"] = np.bytes_("char")
    write_header(tmp_path / "7.3.mat")
    refused(tmp_path / "7.3.mat", r"/text is text of version 7\.3\. Save it with -v7\.", read_stored)


def test_a_shape_is_read_from_the_header_alone(tmp_path):
    large = (1 << 40, 7)
    with open(tmp_path / "a.npy", "wb") as stream:
        stream.write(header(large))
        stream.truncate(stream.tell() + (7 << 40))  # no data follow: the file is a hole
    assert shape_with_ids(tmp_path / "a.npy")[0] == large


@pytest.mark.parametrize("first", [2**53 - 1, -(2**53) - 2, 2**63 - 2, 2**64 - 3])
def test_integers_in_text_are_exact(first, tmp_path):
    file, numbers = tmp_path / "y.csv", [first, first + 2, first + 1]
    file.write_text("".join(f"{number}\n" for number in numbers), encoding="utf-8")
    assert read_array(file).ravel().tolist() == numbers
    file.write_text(f"{first}\n1e300\n", encoding="utf-8")
    assert read_array(file).ravel().tolist() == [float(first), 1e300]


@pytest.mark.parametrize(("changes", "message"), CASES["sparse"])
def test_wrong_sparse_rows_are_refused(tmp_path, changes, message):
    arrays = {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0, 1.0], "shape": [2, 3], "format": b"csr"} | changes
    np.savez(tmp_path / "a.npz", **arrays)
    refused(tmp_path / "a.npz", re.escape(message))


@pytest.mark.parametrize("name", ["a.npy", "a.npz:B", "a.h5:B", "a.mat:B", "7.3.mat:B"])
def test_a_damaged_file_is_refused_in_one_line_with_its_name(tmp_path, name):
    """Cut short, or of another format."""
    path = path_of(written(tmp_path, name))
    content = path.read_bytes()
    for damaged in (*(content[: len(content) * n // 7] for n in range(1, 5)), b"<html>\n", pickle.dumps(ARRAY)):
        path.write_bytes(damaged)
        refused(tmp_path / name, f"^{re.escape(str(path))}: ")

"""`protocol evaluate`: the scores of the Python function for files, and one line for a file it can't use."""

import contextlib
import csv
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from protocol import codes, registry
from protocol.cli import main
from protocol.evaluation import CONVENTIONS, evaluate

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.random((4, 12)) < 0.5, RNG.random((20, 12)) < 0.5
OF_QUERY, OF_DATABASE = RNG.integers(0, 4, 4), RNG.integers(0, 3, 20)
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}


class Touch:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with good files, and the working directory."""
    monkeypatch.chdir(tmp_path)
    np.save("q.npy", QUERY)
    np.save("d.npy", DATABASE)
    np.save("ql.npy", OF_QUERY)
    np.save("dl.npy", OF_DATABASE)
    return tmp_path


GOOD = {"query-codes": "q.npy", "database-codes": "d.npy", "query-labels": "ql.npy", "database-labels": "dl.npy"}


def command(**change):
    """Return the arguments of a good command, some changed or, where None, left out."""
    options = GOOD | {name.replace("_", "-"): value for name, value in change.items()}
    return ["evaluate"] + [
        part for name, value in options.items() if value is not None for part in (f"--{name}", value)
    ]


def scores(*extra, **change):
    """Return the means that the command writes."""
    assert main([*command(**change), *extra, "--json", "out.json"]) == 0
    return json.loads(Path("out.json").read_text())


def test_the_scores_are_those_of_the_function(folder, capsys):
    for rules in CONVENTIONS:
        found = evaluate(QUERY, DATABASE, **LABELS, convention=rules.name)
        written = scores("--convention", rules.name)
        assert written == json.loads(found.to_json())
        assert written["metrics"] == found.metrics
    assert capsys.readouterr().err == ""


def test_a_hand_computed_case_from_text(folder, capsys):
    Path("q.csv").write_text("0,0\n")
    Path("d.csv").write_text("0,0\n0,1\n1,0\n1,1\n")
    Path("ql.txt").write_text("7\n")
    Path("dl.txt").write_text("7\n7\n8\n8\n")
    change = {"query_codes": "q.csv", "database_codes": "d.csv", "query_labels": "ql.txt", "database_labels": "dl.txt"}
    assert main([*command(**change), "--metric", "mAP", "--metric", "mAP[worst]", "--metric", "precision@r1"]) == 0
    out = capsys.readouterr().out
    assert "1 queries, 4 database items, 2 bits; Hamming ranking; convention protocol" in out
    assert re.search(r"^mAP +0.9167  none +expected value +all relevant items$", out, re.M)
    assert re.search(r"^mAP\[worst\] +0.8333  none +relevant items last +all relevant items$", out, re.M)
    assert re.search(r"^precision@r1 +0.6667  none +none +items in the ball$", out, re.M)


def test_every_format(folder):
    import h5py

    plain = scores()
    signs = {"q": np.where(QUERY, 1.0, -1.0), "d": np.where(DATABASE, 1.0, -1.0)}
    packed = {"q": codes.pack(QUERY), "d": codes.pack(DATABASE), "ql": OF_QUERY, "dl": OF_DATABASE}
    io.savemat("all.mat", signs | {"ql": OF_QUERY.astype(float), "dl": OF_DATABASE.astype(float)})
    np.savez_compressed("all.npz", **packed)
    with h5py.File("all.h5", "w") as file:
        for name, array in packed.items():
            file[f"run/{name}"] = array
    np.save("big.npy", np.packbits(QUERY, axis=1))
    np.save("database_big.npy", np.packbits(DATABASE, axis=1))

    def named(start):
        return {role: f"{start}{key}" for role, key in zip(GOOD, ("q", "d", "ql", "dl"), strict=True)}

    assert scores(**named("all.mat:")) == plain
    assert scores("--n-bits", "12", **named("all.npz:")) == plain
    assert scores("--n-bits", "12", **named("all.h5:run/")) == plain
    big = {"query_codes": "big.npy", "database_codes": "database_big.npy"}
    assert scores("--n-bits", "12", "--bit-order", "big", **big) == plain
    assert scores("--n-bits", "12", "--threads", "2") == plain


def test_relevance_instead_of_labels(folder):
    matrix = OF_QUERY[:, None] == OF_DATABASE
    sparse.save_npz("near.npz", sparse.csr_matrix(matrix))
    Path("near.txt").write_text("\n".join(" ".join(map(str, np.flatnonzero(row))) for row in matrix) + "\n")
    np.save("near.npy", [np.flatnonzero(OF_DATABASE == 0)[:2]] * 4)
    without = {"query_labels": None, "database_labels": None}
    found = scores(relevance="near.npz", **without)
    assert scores(relevance="near.txt", **without) == found
    changed = {
        "relevance",
        "ground_truth_sha256",
        "labels_not_in_database",
    }  # lists of neighbours are identified as such, not by their labels
    plain = scores()
    assert {name for name in plain if plain[name] != found[name]} == changed
    assert scores(relevance="near.npy", **without)["metrics"]["recall@r2"] >= 0


def test_metrics_convention_spread_and_the_values_of_each_query(folder, capsys):
    metrics = ["--metric", "mAP@5[retrieved]", "AUPRC[area]"]
    content = scores(*metrics, "--convention", "hashnet", "--spread", "--per-query", "values.csv")
    found = evaluate(QUERY, DATABASE, **LABELS, metrics=metrics[1:], convention="hashnet", spread=True)
    assert content["metrics"] == found.metrics
    assert [row["value"] for row in content["spread"]] == [row.value for row in found.spread]
    with open("values.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == ["0", "1", "2", "3"]
    assert rows[0].keys() == {"query", "ranking", "mAP@5[retrieved]"}
    values = [float(row["mAP@5[retrieved]"] or "nan") for row in rows]
    np.testing.assert_allclose(values, found.per_query["mAP@5[retrieved]"], rtol=1e-8)
    assert "values that a convention calls mAP" in capsys.readouterr().out


def test_real_values_are_binarised_on_request(folder):
    real = {"q": QUERY - 0.3, "d": DATABASE - 0.3}
    np.savez("real.npz", **real)
    change = {"query_codes": "real.npz:q", "database_codes": "real.npz:d"}
    plain = scores()
    assert scores("--binarize", "sign", **change) == plain | {"binarize": "sign"}
    assert scores("--binarize", "median", **change)["binarize"] == "median"


def test_labels_may_be_words_and_codes_signed_bytes(folder):
    Path("q.txt").write_text("".join(f"class {label}\n" for label in OF_QUERY))
    Path("d.txt").write_text("".join(f"class {label}\n" for label in OF_DATABASE))
    words = scores(query_labels="q.txt", database_labels="d.txt")
    assert words.pop("labels_not_in_database") == [f"class {label}" for label in scores()["labels_not_in_database"]]
    assert words.items() <= scores().items()
    for name, bits in (("qs.npy", QUERY), ("ds.npy", DATABASE)):
        np.save(name, (np.packbits(bits, axis=1) - 128).astype(np.int8))
    change = {"query_codes": "qs.npy", "database_codes": "ds.npy", "n_bits": "12"}
    assert scores("--bit-order", "big-128", **change) == scores()


def helped(command):
    """Return the complete help."""
    with pytest.raises(SystemExit), contextlib.redirect_stdout(StringIO()) as out:
        main([command, "--help-all"])
    return out.getvalue()


def examples():
    """Return the commands in the help: the complete ones, and the last of them continued by each line with dots."""
    texts = [helped(command).split("examples:", 1)[1] for command in ("evaluate", "quantisation")]
    commands = []
    for line in re.sub(r" \\\n +", " ", "\n".join(texts)).split("\n"):
        start, *options = re.split("  +", line.strip())[0].split() or [""]
        if start == "protocol":
            complete = options
        if start in ("protocol", "..."):
            commands.append(options if start == "protocol" else complete + options)
    return commands


def test_the_examples_of_the_help_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sides = {"q": RNG.normal(size=(4, 64)), "d": RNG.normal(size=(1500, 64))}
    for name, real in sides.items():
        np.save(f"{name}.npy", real > 0)
        np.save(f"{name}v.npy", real.astype(np.float32))
        np.save("real.npy", sides["q"])
        Path(f"{name}.csv").write_text("\n".join(map(str, RNG.integers(0, 3, len(real)))) + "\n")
    io.savemat("c.mat", {"tB": codes.pack(sides["q"][:, :48] > 0), "B": codes.pack(sides["d"][:, :48] > 0)})
    sparse.save_npz("near.npz", sparse.random(4, 1500, density=0.1, format="csr", data_rvs=np.ones))
    np.save("t.npy", RNG.normal(size=(100, 64)))
    Path("affected.txt").write_text("1\n3\n")
    commands = examples()
    assert len(commands) >= 14
    assert sum("--query-vectors" in command for command in commands) == 6
    for command in commands:
        assert main(command) == 0, command
    assert capsys.readouterr().err == ""


def test_all_metrics_are_every_registered_one(folder):
    found = scores("--metric", "all")["metrics"]
    for name in registry.names("metric"):
        if not name.startswith("F_beta") and not registry.METRICS.entry(name).relevant:
            assert name.replace("@K", "@1000").replace("@rR", "@r1") in found
    short = evaluate([[0], [1]], [[0], [1]], query_labels=[0, 1], database_labels=[0, 1], metrics=["all"]).metrics
    assert "precision@r1" in short
    assert "precision@r2" not in short


def test_bucket_search_lookups_and_curves(folder, capsys):
    """A single table of all bits is the ball of radius 0; the curves end with the whole database."""
    content = scores(
        *("--tables", "12x1", "--tables", "1x12", "--lookup-radius", "2", "--pr-curves", "c.csv"),
        *("--metric", "precision_micro@r0", "--metric", "recall_micro@r0", "--metric", "precision_micro@r11"),
    )
    found, means = content["bucket_search"], content["metrics"]
    assert found["12x1"]["precision_micro"] == means["precision_micro@r0"]
    assert found["12x1"]["recall_micro"] == means["recall_micro@r0"]
    # one bit a table: everything that agrees anywhere
    assert found["1x12"]["precision_micro"] == pytest.approx(means["precision_micro@r11"], rel=1e-12)
    assert found["1x12"]["F1_micro"] > 0
    assert len(content["lookup_seconds"]) == 3
    assert sorted(content["lookup_seconds"]) == content["lookup_seconds"]
    with open("c.csv") as file:
        curve = list(csv.DictReader(file))
    assert [row["radius"] for row in curve] == [str(radius) for radius in range(13)]
    relevant = (OF_QUERY[:, None] == OF_DATABASE).mean()
    assert float(curve[-1]["precision_micro"]) == pytest.approx(relevant, rel=1e-8)
    assert float(curve[0]["recall_micro"]) == pytest.approx(means["recall_micro@r0"], rel=1e-8)
    out = capsys.readouterr().out
    for line in ("12x1", "buckets probed", "not a metric"):
        assert line in out


def saved(name, array, **options):
    np.save(name, array, **options)
    return name


def written(name, content):
    Path(name).write_bytes(content)
    return name


def zipped(name, member, content):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return name


def declaring(shape):
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def npz(name, **arrays):
    np.savez(name, **arrays)
    return name


def folder_called(name):
    Path(name).mkdir()
    return name


NO_LABELS = {"query_labels": None, "database_labels": None}
HUGE = (10**12, 64)
BAD = {
    "no such file": (lambda: {"query_codes": "none.npy"}, "none.npy: expected a file, got no such file"),
    "a folder": (lambda: {"query_codes": folder_called("f.npy")}, "f.npy: expected a file, got a folder"),
    "an empty file": (lambda: {"query_codes": written("e.npy", b"")}, "e.npy: expected an array, got an empty file"),
    "an empty text": (
        lambda: {"database_labels": written("e.csv", b"\n\n")},
        "e.csv: expected numbers as text, got blank",
    ),
    "no rows": (lambda: {"query_codes": saved("z.npy", QUERY[:0])}, r"z.npy: expected an array .*shape \(0, 12\)"),
    "unknown extension": (
        lambda: {"query_codes": written("q.pt", b"x")},
        "q.pt: expected a file F.npy, .*got the extension '.pt'",
    ),
    "no extension": (
        lambda: {"query_codes": written("codes", b"x")},
        "codes: expected a file F.npy, .*got the extension ''",
    ),
    "no npy inside": (lambda: {"query_codes": written("x.npy", b"text")}, "x.npy: expected an .npy file"),
    "cut short": (
        lambda: {"query_codes": written("c.npy", Path("q.npy").read_bytes()[:-5])},
        "c.npy: expected 48 bytes",
    ),
    "text for numbers": (lambda: {"query_codes": written("t.csv", b"a,b\n")}, "t.csv: .*could not convert string 'a'"),
    "ragged text": (lambda: {"query_codes": written("r.csv", b"0,1\n0\n")}, "r.csv: .*number of columns changed"),
    "complex numbers": (lambda: {"query_codes": saved("i.npy", QUERY * 1j)}, "i.npy: .*got dtype complex128"),
    "NaN": (
        lambda: {"query_codes": saved("n.npy", QUERY * np.nan)},
        "n.npy: query codes: expected finite numbers, got NaN",
    ),
    "n-bits no number": (lambda: {"n_bits": "many"}, "argument --n-bits/--bits: invalid int value: 'many'"),
    "missing key": (
        lambda: {"query_codes": npz("k.npz", B=QUERY) + ":A"},
        "k.npz: expected the array 'A', got a file that contains: B",
    ),
    "no key": (
        lambda: {"query_codes": npz("k.npz", A=QUERY, B=QUERY)},
        "k.npz: expected k.npz:KEY, got no key; .*: A, B",
    ),
    "no zip": (lambda: {"query_codes": written("x.npz", b"text") + ":A"}, "x.npz: expected an .npz file"),
    "no HDF5": (lambda: {"query_codes": written("x.h5", b"text") + ":A"}, "x.h5: expected an HDF5 file"),
    "no MATLAB": (lambda: {"query_codes": written("x.mat", b"text" * 99) + ":A"}, "x.mat: expected "),
    "a header that lies": (
        lambda: {"query_codes": written("h.npy", declaring(HUGE))},
        "h.npy: expected 64000000000000 bytes",
    ),
    "a zip that lies": (
        lambda: {"query_codes": zipped("b.npz", "B.npy", declaring(HUGE) + bytes(10**6))},
        "b.npz: expected 64000000000000 bytes of data .* got 1000000",
    ),
    "labels too few": (
        lambda: {"query_labels": saved("y.npy", OF_QUERY[1:])},
        "y.npy: query labels: 3 labels for 4 items",
    ),
    "two ground truths": (
        lambda: {"relevance": "near.npz"},
        "More than one ground truth: query labels and database labels and relevance",
    ),
    "no codes": (lambda: {"query_codes": None}, "query codes are missing"),
    "rows outside": (
        lambda: NO_LABELS | {"relevance": written("o.txt", b"0\n1\n2\n20\n")},
        "o.txt: relevance: indices: expected row numbers from 0 to 19, got 0 to 20",
    ),
    "CSR outside": (
        lambda: (
            NO_LABELS
            | {"relevance": npz("o.npz", indptr=[0, 1, 1, 1, 1], indices=[20], data=[1], shape=(4, 20), format=b"csr")}
        ),
        "o.npz: relevance: indices: expected row numbers from 0 to 19, got 20 to 20",
    ),
    "no CSR": (
        lambda: NO_LABELS | {"relevance": npz("o.npz", B=QUERY)},
        "o.npz: expected compressed sparse rows, .*got B",
    ),
    "lists of words": (lambda: NO_LABELS | {"relevance": written("o.txt", b"0\ncat\n")}, "o.txt: line 2: .*got 'cat"),
    "unknown metric": (lambda: {"metric": "mAO"}, "metric: expected .*, got 'mAO'"),
    "unknown convention": (
        lambda: {"convention": "hashnt"},
        r"convention: expected .*, got 'hashnt'.*Did you mean 'hashnet'",
    ),
    "tables without number": (lambda: {"tables": "16"}, "tables: expected KxL .*such as 16x4, got '16'"),
    "tables beyond the code": (
        lambda: {"tables": "5x3"},
        r"tables 5x3: expected K x L <= 12 bits \(the code length\), got 5 x 3 = 15\.",
    ),
    "lookups beyond the code": (
        lambda: {"lookup_radius": "13"},
        "lookup time: radius: expected an integer from 0 to 12, got 13",
    ),
    "curves in the way": (lambda: {"pr_curves": folder_called("c") + "/"}, "c: can't be written"),
    "no thread": (lambda: {"threads": "0"}, "threads: expected an integer >= 1, got 0"),
    "unknown option": (lambda: {"labels": "ql.npy"}, "unrecognized arguments: --labels ql.npy"),
    "json in the way": (lambda: {"json": folder_called("j")}, "j: can't be written"),
    "values in the way": (
        lambda: {"per_query": "q.npy/v.csv"},
        "can't be written: a file exists where a folder is needed",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(folder, capsys, case):
    change, message = BAD[case]
    try:
        code = main(command(**change()))
    except SystemExit as stopped:  # errors of the parser
        code = stopped.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("protocol")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    assert re.search(message, err), err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission(folder, capsys):
    Path("q.npy").chmod(0)
    assert main(command()) == 2
    assert "q.npy: expected an .npy file, got one that can't be read (Permission denied)." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["p.npy", "p.npz", "p.csv", "p.mat", "p.h5"])
@pytest.mark.parametrize("role", ["query_codes", "database_codes", "query_labels", "database_labels", "relevance"])
def test_no_pickle_is_ever_loaded(folder, capsys, name, role):
    objects = saved("objects.npy", np.array([Touch(folder / "touched")], dtype=object), allow_pickle=True)
    content = Path(objects).read_bytes() if name == "p.npy" else pickle.dumps(Touch(folder / "touched"))
    if name == "p.npz":
        zipped(name, "indptr.npy", Path(objects).read_bytes())
    else:
        written(name, content)
    change = {role: name} | (NO_LABELS if role == "relevance" else {})
    assert main(command(**change)) == 2
    assert f"{name}: " in capsys.readouterr().err
    assert not (folder / "touched").exists()


def test_an_interrupted_write_leaves_the_old_file(folder, capsys, monkeypatch):
    Path("out.json").write_text("old")
    monkeypatch.setattr(Path, "write_text", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert main([*command(), "--json", "out.json"]) == 2
    assert "out.json: can't be written: the disk is full" in capsys.readouterr().err
    monkeypatch.undo()
    assert (folder / "out.json").read_text() == "old"


def test_progress_is_shown_only_in_a_terminal(folder):
    done = subprocess.run([sys.executable, "-m", "protocol", *command()], capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_in_a_separate_process(folder):
    done = subprocess.run(
        [sys.executable, "-m", "protocol", *command(query_codes="none.npy")], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 2
    assert done.stderr == "protocol: none.npy: expected a file, got no such file.\n"


def test_progress_is_shown_to_a_terminal_after_two_seconds(folder, capsys, monkeypatch):
    import tqdm

    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, **options):
            super().__init__(**options)
            made.append((self, options))

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(command()) == 0
    ((bar, options),) = made
    assert (bar.n, bar.total, options["delay"]) == (4, 4, 2)
    assert "counting" not in capsys.readouterr().err


def test_the_complete_help_describes_files_and_options(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "--help-all"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    for word in (
        "examples:",
        "--n-bits",
        "--spread",
        "F.npz:key",
        "--binarize",
        "--convention hashnet",
        "--json means.json",
    ):
        assert word in out
    assert all(len(line) <= 120 for line in out.split("\n"))


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    heavy = ("sklearn", "pandas", "cv2", "numba", "torch", "scipy", "h5py", "tqdm", "jinja2", "protocol.evaluation")
    code = (
        "import sys; from protocol.cli import main\n"
        f"try: main({arguments!r})\n"
        f"except SystemExit: print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_evaluating_arrays_of_numpy_imports_no_other_reader(folder):
    code = (
        "import sys; from protocol.cli import main\n"
        f"main({command()!r})\n"
        "print([name for name in ('sklearn', 'pandas', 'numba', 'scipy', 'h5py', 'tqdm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.strip().split("\n")[-1] == "[]"

"""`protocol audit`: the findings of `protocol.auditing` for files of every form, and errors in one line."""

import csv
import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from protocol import registry
from protocol.auditing import KIND_OF
from protocol.cli import main
from protocol.provenance import storage
from protocol.splits import read_list, write_list, write_split

SIZES = {"query": 20, "validation_query": 10, "validation_database": 30, "train": 40}
IDS = np.array([f"image/{row:03d}.png" for row in range(400)])
Y = np.arange(400) % 5
PARTS = registry.get("split", "improved").split(400, Y, sizes=SIZES, seed=0)
LISTS = ["--query", "query.txt", "--database", "database.txt", "--train", "train.txt"]
KEYS = ["file", "finding", "severity", "count", "items", "partners", "consequence", "fix", "treatment"]
COLUMNS = ["file", "finding", "severity", "count", "examples", "consequence", "fix", "treatment"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with good lists, and the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, part in PARTS.items():
        write_list(f"{name}.txt", part, IDS, Y)
        np.save(f"{name}.npy", part)
    Path("ids.txt").write_text("\n".join(IDS) + "\n")
    np.save("labels.npy", Y)
    np.save("X.npy", np.random.default_rng(0).standard_normal((400, 4)))
    return tmp_path


def audited(*arguments):
    """Return the exit status and the findings, without those that are for information only."""
    status = main(["audit", *arguments, "--json", "found.json"])
    return status, [one for one in json.loads(Path("found.json").read_text()) if one["severity"] != "information"]


def names(*arguments):
    status, found = audited(*arguments)
    return status, [(one["finding"], one["severity"], one["count"]) for one in found]


def leaking(name="database.txt"):
    """Put two queries into a list."""
    with open(name, "a") as file:
        file.writelines(Path("query.txt").read_text().splitlines(keepends=True)[:2])


LEAK = ("query-in-database", "error", 2)


def test_clean_lists_are_clean(folder, capsys):
    assert names(*LISTS) == (0, [])
    out = capsys.readouterr().out
    assert "query 20, database 300, train 40; no protocol declared\n" in out
    assert "  clean; not checked: overlaps with missing partitions" in out
    assert "  information train-not-in-database: 40\n" in out
    assert out.endswith("0 errors, 0 warnings, 1 for information\n")
    assert "\x1b" not in out


def test_five_lists_drawn_by_a_protocol_are_clean_under_it(folder):
    validation = ["--validation-query", "validation_query.txt", "--validation-database", "validation_database.txt"]
    known = ["--ids", "ids.txt", "--labels", "labels.npy", "--features", "X.npy"]
    assert names(*LISTS, *validation, "--protocol", "improved", *known) == (0, [])


def test_a_leak_is_an_error_with_the_ids_as_they_were_written(folder, capsys):
    leaking()
    status, (found,) = audited(*LISTS)
    assert status == 1
    assert list(found) == KEYS
    assert (found["finding"], found["severity"], found["count"]) == LEAK
    assert found["items"] == list(IDS[PARTS["query"][:2]])
    assert found["file"] == "query.txt database.txt train.txt"
    kind = KIND_OF["query-in-database"]
    assert [found[key] for key in ("consequence", "fix", "treatment")] == [
        kind.consequence,
        kind.fix,
        kind.treatment,
    ]
    out = capsys.readouterr().out
    assert "  error    query-in-database: 2\n" in out
    assert IDS[PARTS["query"][0]] in out
    assert f"           How to fix it: {kind.fix}\n" in out
    assert out.endswith("1 error, 0 warnings, 1 for information\n")


def test_warnings_alone_are_clean(folder):
    assert names("--query", "query.txt", "--database", "database.txt", "--train", "database.txt") == (
        0,
        [("train-in-database", "warning", 300)],
    )


@pytest.mark.parametrize(
    ("fail_on", "leak", "warned", "clean"),
    [("error", 1, 0, 0), ("warning", 1, 1, 0), ("information", 1, 1, 1), ("never", 0, 0, 0)],
)
def test_the_user_chooses_the_findings_that_fail(folder, fail_on, leak, warned, clean):
    lists = ["--query", "query.txt", "--database"]
    assert main(["audit", *LISTS, "--fail-on", fail_on]) == clean  # the training set is not in the database
    assert main(["audit", *lists, "database.txt", "--train", "database.txt", "--fail-on", fail_on]) == warned
    leaking()
    assert main(["audit", *lists, "database.txt", "--fail-on", fail_on]) == leak


def test_every_item_of_a_finding_is_in_the_json_and_five_are_in_the_text(folder, capsys):
    _, (found,) = audited("--query", "query.txt", "--database", "query.txt")
    assert (found["count"], sorted(found["items"])) == (20, sorted(IDS[PARTS["query"]]))
    assert capsys.readouterr().out.count("image/") == 5


def test_a_query_in_the_training_set_is_reported_once(folder):
    leaking("train.txt")
    _, found = audited(*LISTS[:4], "--train", "train.txt", "--json", "found.json")
    reported = [item for one in json.loads(Path("found.json").read_text()) for item in one["items"]]
    assert [one["finding"] for one in found] == ["query-in-train"]
    assert len(reported) == len(set(reported)) == 42


def test_lists_may_be_row_numbers_with_labels_of_all_rows(folder):
    numbers = [part.replace(".txt", ".npy") for part in LISTS]
    np.savez("both.npz", a=np.append(PARTS["query"], PARTS["train"][0]), b=Y)
    assert names(*numbers) == (0, [])
    status, (found,) = audited(
        "--query", "both.npz:a", *numbers[2:], "--labels", "both.npz:b", "--protocol", "improved"
    )
    assert (status, found["finding"], found["items"]) == (1, "query-in-train", [str(PARTS["train"][0])])
    status, found = audited("--query", "both.npz:a", *numbers[2:], "--ids", "ids.txt")
    assert [(one["finding"], one["count"]) for one in found] == [("query-in-train", 1), ("unused-items", 40)]
    assert found[0]["items"] == [IDS[PARTS["train"][0]]]


@pytest.mark.parametrize("extension", [".h5", ".npz", ".csv"])
def test_complete_splits_are_read_in_every_format(folder, extension):
    write_split(f"split{extension}", PARTS, IDS)
    assert names(f"split{extension}", "--protocol", "improved") == (0, [])
    standard = registry.get("split", "standard").split(400, Y, sizes=SIZES, seed=0)
    write_split(f"other{extension}", standard, IDS)
    status, found = names(f"other{extension}", "--protocol", "improved")
    assert (status, {name for name, _, _ in found}) == (1, {"train-in-database", "validation-in-database"})


def pipeline(folder, *, seeds=(0, 1), name="improved"):
    """Write the files of the pipeline: the items, and a split for each seed."""
    items = {"ids": np.char.encode(IDS), "labels": Y, "class_names": [b"a", b"b", b"c", b"d", b"e"]}
    storage.write("items.h5", items, storage.provenance("dataset x", parameters={}, inputs={}))
    for run, seed in enumerate(seeds):
        parts = registry.get("split", name).split(400, Y, sizes=SIZES, seed=seed)
        parameters = {"sizes": SIZES, "lists": {}, "run": run}
        provenance = storage.provenance(
            f"split {name}", parameters=parameters, inputs={"labels": "items.h5"}, seed=seed
        )
        storage.write(folder / f"{run}" / "splits.h5", parts, provenance)
    return [f"{run}/splits.h5" for run in range(len(seeds))]


def test_files_of_the_pipeline_need_no_options(folder, capsys):
    paths = pipeline(folder)
    assert names(*paths) == (0, [])
    out = capsys.readouterr().out
    assert out.count("; protocol improved\n") == 2
    unseen = (
        "near-duplicate (needs features); known-near-duplicate (needs known pairs); pair-split (needs pairs); "
        "group-split (needs groups); doubtful-label (needs label issues); selection-on-test (needs a training log); "
        "leaks in fitted models, mixed-libraries (need the pipeline's target audit)"
    )
    assert f"clean; not checked: {unseen}" in " ".join(out.split())
    np.save("twins.npy", np.zeros((400, 2)))
    assert {one[0] for one in names(*paths, "--features", "twins.npy")[1]} == {"near-duplicate"}


def test_runs_that_repeat_each_other_are_found_by_their_files(folder):
    paths = pipeline(folder, seeds=(0, 1, 0))
    status, found = audited(*paths)
    assert status == 1
    assert {one["finding"] for one in found} == {"runs-not-independent"}
    assert {(one["file"], *one["items"]) for one in found} == {("2/splits.h5", "0/splits.h5")}


def test_a_split_drawn_with_another_seed_than_recorded_is_found(folder):
    (path,) = pipeline(folder, seeds=(0,))
    storage.write(path, PARTS, storage.read_provenance(path) | {"seed": 9})
    status, (found,) = audited(path)
    assert (status, found["finding"]) == (1, "not-reproducible")
    assert found["items"] == ["query", "validation_query", "validation_database", "train", "database"]


def test_items_of_another_dataset_are_not_used_for_a_split(folder):
    (path,) = pipeline(folder, seeds=(0,))
    storage.write(
        "items.h5",
        {"ids": np.char.encode(IDS), "class_names": []},
        storage.provenance("dataset y", parameters={}, inputs={}),
    )
    assert names(path) == (0, [])


def test_a_split_is_compared_with_another_and_with_a_protocol(folder, capsys):
    Path("moved.txt").write_text("".join(Path("database.txt").read_text().splitlines(keepends=True)[3:]))
    against = "query=query.txt,database=moved.txt,train=train.txt"
    assert names(*LISTS, "--against", against) == (0, [])
    out = capsys.readouterr().out
    assert "database    300    297      297" in out
    assert "These items are in database here, and in no partition in query.txt moved.txt train.txt." in out
    (finding,) = [one for one in json.loads(Path("found.json").read_text()) if one["finding"] == "split-difference"]
    assert finding["items"] == [IDS[row] for row in PARTS["database"][:3]]
    assert main(["audit", *LISTS, "--against", against, "--fail-on", "information"]) == 1
    assert main(["audit", *LISTS, "--against", "voc2012_1k", "--markdown"]) == 0
    assert "| sizes | query | 20 | 1,000 |" in capsys.readouterr().out


def test_the_json_does_not_replace_a_file_of_against(folder, capsys):
    against = "query=query.txt,database=database.txt"
    assert (
        main(
            ["audit", "--query", "query.txt", "--database", "train.txt", "--against", against, "--json", "database.txt"]
        )
        == 2
    )
    assert "database.txt" in capsys.readouterr().err


def test_expected_sizes_need_no_protocol(folder, capsys):
    assert names(*LISTS, "--sizes", "query=20,train=40") == (0, [])
    assert "size-mismatch for database (needs" in capsys.readouterr().out
    assert names(*LISTS, "--sizes", "query=20,train=40,database=300") == (0, [])
    assert "size-mismatch" not in capsys.readouterr().out
    assert names(*LISTS, "--sizes", "query=21,train=40") == (1, [("size-mismatch", "error", 1)])


@pytest.mark.parametrize(
    "sizes", ["query", "query=", "query=x", "query=-1", "test=3", "query=1,query=1", "query=1,", ""]
)
def test_malformed_sizes_are_refused(folder, sizes, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["audit", *LISTS, "--sizes", sizes])
    assert stopped.value.code == 2
    assert "argument --sizes: expected PART=N,..." in capsys.readouterr().err


def test_copies_are_found_by_features_that_are_equal_or_near(folder):
    known = ["--ids", "ids.txt", "--features", "X.npy"]
    X = np.load("X.npy")
    X[PARTS["query"][0]] = X[PARTS["train"][7]]
    np.save("X.npy", X)
    lists = [*LISTS, *known]
    copies = [one for one in audited(*lists)[1] if one["finding"] == "near-duplicate"]
    assert [one["items"] for one in copies] == [[IDS[PARTS["query"][0]]]]
    np.save("X.npy", np.where(np.arange(400)[:, None] == PARTS["query"][0], X + 0.01, X))
    assert "near-duplicate" not in {one["finding"] for one in audited(*lists)[1]}
    assert "near-duplicate" in {one["finding"] for one in audited(*lists, "--distance", "0.03")[1]}


def test_csv_lists_and_names_with_codes_for_a_terminal(folder, capsys):
    for name in ("query", "database"):
        Path(f"{name}.csv").write_text('id,0\n"a \x1b[31mred",1\n')
    assert names("--query", "query.csv", "--database", "database.csv")[0] == 1
    assert "\x1b" not in capsys.readouterr().out
    assert json.loads(Path("found.json").read_text())[0]["items"] == ["a \x1b[31mred"]


def run(*arguments, **environment):
    command = [sys.executable, "-m", "protocol", "audit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


def test_the_installed_command(folder):
    leaking()
    assert run("--query", "query.txt", "--database", "train.txt").returncode == 0
    text = run(*LISTS)
    assert (text.returncode, text.stderr) == (1, "")
    table = run(*LISTS, "--markdown", "--json", "x.json")
    assert (table.returncode, table.stderr) == (1, "")
    assert table.stdout.startswith("### `query.txt database.txt train.txt`\n")
    rows = [line for line in table.stdout.splitlines() if line.startswith("| error")]
    assert [one["severity"] for one in json.loads(Path("x.json").read_text())] == ["error", "information"]
    assert len(rows) == 1
    assert [cell.strip() for cell in rows[0].split("|")[1:4]] == ["error", "`query-in-database`", "2"]
    missing = run("--query", "none.txt", "--database", "database.txt", "--json", "y.json")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == "protocol: none.txt: expected a list of items, got no such file.\n"
    assert not Path("y.json").exists()


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_only_for_terminals_that_allow_it(folder, variables, coloured):
    leaking()
    master, slave = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    command = [sys.executable, "-m", "protocol", "audit", *LISTS]
    done = subprocess.Popen(command, stdout=slave, env=environment | variables)
    os.close(slave)
    output = b""
    while True:
        try:
            read = os.read(master, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not read:
            break
        output += read
    os.close(master)
    assert done.wait() == 1
    assert (b"\x1b[" in output) == coloured


def text(content):
    return lambda path: path.write_text(content)


def array(values):
    return lambda path: np.save(path, np.asarray(values))


BAD = {
    "no file": ("query.txt", Path.unlink, "query.txt: expected a list of items, got no such file"),
    "empty": ("query.txt", text(""), "query.txt: the list is empty"),
    "labels": ("query.txt", text("a 0 2\n"), r"query.txt: line 1: expected an id and labels, 0 or 1, got 'a'"),
    "ragged": ("train.txt", text("a 0 1\nb 0\n"), "train.txt: line 2: expected an id and 2 labels, 0 or 1, got 'b'"),
    "width": ("train.txt", text("a 0 1\n"), "lists: expected labels for the same classes in every list, got 5 in"),
    "binary": ("train.txt", lambda path: path.write_bytes(b"\xff\xfe\x00"), "train.txt: expected a list of items,"),
    "mixed": ("train.npy", array([1, 2]), "expected ids in every list, or row numbers in every list, got ids in"),
    "negative": ("rows", array([-1, 2]), "query.npy: expected row numbers .* got -1 to 2"),
    "not whole": ("rows", array([0.5]), "query.npy: expected integers, got 0.5"),
    "NaN rows": ("rows", array([np.nan]), "query.npy: expected integers, got nan"),
    "matrix": ("rows", array([[1, 2]]), r"query.npy: expected row numbers or ids, shape \(n,\), got shape \(1, 2\)"),
    "no row": ("rows", array(np.arange(0)), "query.npy: expected an array of numbers, got an empty one"),
    "far": ("labels.npy", array(np.zeros(10, dtype=int)), "expected row numbers from 0 to 9, got"),
    "NaN labels": ("labels.npy", array([np.nan] * 400), "labels.npy: labels: expected integers, got nan"),
    "NaN features": ("X.npy", array([[np.nan]] * 400), "X.npy: expected finite numbers, got NaN or infinity"),
    "few features": (
        "X.npy",
        array([[1.0]] * 3),
        r"X.npy: features: expected features of .* items, shape \(.*, d\), got",
    ),
    "ids twice": ("ids.txt", text("a\na\n"), "ids.txt: ids: expected distinct ids, got 'a' more than once"),
    "other ids": ("ids.txt", text("a\nb\n"), "query.txt: expected ids of the dataset, such as 'a', got 20 unknown"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_files_are_refused_in_one_line(folder, case, capsys):
    name, spoil, message = BAD[case]
    numbers = name in ("rows", "labels.npy", "X.npy")
    spoil(folder / ("query.npy" if name == "rows" else name))
    arguments = [part.replace(".txt", ".npy") for part in LISTS] if numbers else list(LISTS)
    if name == "train.npy":
        arguments[-1] = name
    for option in ("ids.txt", "labels.npy", "X.npy"):
        if name == option:
            arguments += [{"ids.txt": "--ids", "labels.npy": "--labels", "X.npy": "--features"}[name], name]
    assert main(["audit", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert re.search(message, printed.err), printed.err


def test_a_split_that_is_cut_short_or_has_no_query_is_refused_in_one_line(folder, capsys):
    write_split("split.h5", PARTS, IDS)
    content = Path("split.h5").read_bytes()
    Path("short.h5").write_bytes(content[: len(content) // 2])
    write_split("none.npz", {name: PARTS[name] for name in ("train", "database")}, IDS)
    Path("odd.csv").write_text("partition,id\ntest,a\n")
    for path, message in (
        ("short.h5", "short.h5: altered since it was written (expected sha256 "),
        ("none.npz", "none.npz: expected a query and a database partition, got an empty query"),
        ("odd.csv", "validation_database or validation_query, got 'test'"),
        ("split.txt", "expected a split as .h5, .npz or .csv, got extension '.txt'"),
    ):
        assert main(["audit", path]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err
        assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected complete splits, lists of the query and database items, or a training log, got none of them."),
        (["a.h5", *LISTS], "expected complete splits, lists of the query and database items, or a training log,"),
        (["--query", "query.txt"], "database: expected the list of the database items in addition to query, got none."),
        ([*LISTS, "--protocol", "improvd"], "got 'improvd'. Did you mean 'improved'?"),
        ([*LISTS, "--distance", "1"], "distance: expected features in which it is measured (features), got only 1."),
        (
            [*LISTS, "--features", "X.npy"],
            "X.npy: features: expected the ids of its rows (ids), because the lists contain",
        ),
        ([*LISTS, "--labels", "labels.npy"], "query.txt: expected row numbers, which determine the order of the"),
        ([*LISTS, "--json", "query.txt/x.json"], "a file exists where a folder is needed"),
    ],
)
def test_unusable_options_are_refused_in_one_line(folder, arguments, message, capsys):
    assert main(["audit", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert message in printed.err


@pytest.mark.parametrize("distance", ["-1", "nan", "inf", "far"])
def test_an_invalid_distance_is_refused(folder, distance, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["audit", *LISTS, "--features", "X.npy", "--distance", distance])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_complete_help_has_examples_and_formats(capsys):
    with pytest.raises(SystemExit):
        main(["audit", "--help-all"])
    out = capsys.readouterr().out
    for words in ("examples:", "exit status:", "--query test.txt --database database.txt", "protocol list findings"):
        assert words in out


def test_the_kinds_of_finding_are_listed(capsys):
    assert main(["list", "findings"]) == 0
    out = capsys.readouterr().out
    for kind in KIND_OF.values():
        assert f"  {kind.name} " in out
        assert kind.summary in out
        assert f"[{kind.treatment}]" in out


# Real lists


@pytest.fixture
def nuswide(shared):
    found = shared / "data" / "nuswide_lists"
    if not found.is_dir():
        pytest.skip("data/nuswide_lists is not there")
    return found


def test_the_lists_of_deephash_are_clean(nuswide, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = [
        "--query",
        str(nuswide / "deephash_21/test.txt.gz"),
        "--database",
        str(nuswide / "deephash_21/train.txt.gz"),
    ]
    assert names(*files) == (0, [])
    out = " ".join(capsys.readouterr().out.split())
    assert "query 2,100, database 10,500" in out
    lists = "DeepHash-pytorch's lists of NUS-WIDE-21"
    assert f"The query list has the 2,100 file names of the query list in {lists}." in out
    assert f"The database list has the 10,500 file names of the train list in {lists}." in out


def test_the_lists_of_hashnet_have_images_without_labels_and_concepts_without_images(nuswide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test, train = (str(nuswide / f"hashnet_81/{part}.txt.gz") for part in ("test", "train"))
    assert names("--query", test, "--database", train) == (
        0,
        [("class-missing", "warning", 2), ("query-without-relevant", "warning", 1_131)],
    )
    turned = {name: count for name, _, count in names("--query", train, "--database", test)[1]}
    assert turned["query-without-relevant"] >= 2_185


def test_the_two_toolkits_share_photos_across_roles(nuswide, tmp_path, monkeypatch):
    """The number in a file's name identifies a photo: one toolkit's test images are in the other's training set."""
    monkeypatch.chdir(tmp_path)

    def photos(toolkit, part):
        ids, _ = read_list(nuswide / toolkit / f"{part}.txt.gz")
        numbers = [re.split("[_.]", name.rpartition("/")[2])[1] for name in ids.tolist()]
        Path(f"{toolkit}-{part}.txt").write_text("\n".join(numbers))
        return f"{toolkit}-{part}.txt"

    for own, other, count in (("hashnet_81", "deephash_21", 186), ("deephash_21", "hashnet_81", 70)):
        lists = [photos(own, "test"), photos(own, "train"), photos(other, "train")]
        status, found = names("--query", lists[0], "--database", lists[1], "--train", lists[2])
        assert status == 1
        assert ("query-in-train", "error", count) in found


def test_the_json_equals_the_table_of_the_pipeline(folder):
    from protocol.auditing import Dataset, audit_splits, write_findings
    from protocol.auditing.inputs.reading import read_lists

    leaking()
    _, found = audited(*LISTS)
    lists = {name: f"{name}.txt" for name in ("query", "database", "train")}
    write_findings("audit.csv", audit_splits([read_lists(lists, Dataset())]))
    row, _ = csv.DictReader(io.StringIO(Path("audit.csv").read_text()))
    assert list(row) == COLUMNS
    own = {key: str(value) for key, value in found[0].items() if key in COLUMNS}
    assert row == own | {"examples": ", ".join(found[0]["items"])}


@pytest.mark.parametrize("name", ["q.csv.gz", "q.txt", "q.lst", "q.csv"])
@pytest.mark.parametrize("mark", [",", ";"])
def test_every_query_in_the_database_is_found_whatever_divides_the_lines(folder, name, mark):
    lines = [f"{item}{mark}1{mark}0\n" for item in IDS[:20]]
    content = "".join(lines).encode()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    write_list("d.csv", np.arange(100), IDS, np.arange(400) % 2)
    status, found = names("--query", name, "--database", "d.csv")
    assert status == 1
    assert ("query-in-database", "error", 20) in found

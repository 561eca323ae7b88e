"""`protocol check`: what an experiment runs, or an error in one line."""

import numpy as np
import pytest
import yaml
from encoded import yaml_of

from protocol.checks import counted
from protocol.cli import main

CASES = yaml_of("cli/check.yaml")
SMALL = CASES["small"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return str(path)


def test_it_prints_what_is_run(file, capsys):
    assert main(["check", file]) == 0
    out = capsys.readouterr().out
    assert [text for text in CASES["prints"] if text not in out] == []


def test_the_default_experiment_is_checked_without_a_file(capsys):
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("experiment digits\n")


def test_later_files_and_keys_add_to_earlier_ones(file, tmp_path, capsys):
    (tmp_path / "more.yaml").write_text("experiment: more\nsplit_sizes: {train: 200}\n")
    assert main(["check", file, str(tmp_path / "more.yaml"), "--config", "n_bits=[32]", "split_sizes={query: 29}"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("experiment more\n")
    assert "x 1 code length x" in out
    assert "improved: query 29, train 200, database 1,568; fewer than 30 queries in a run, so scores are unc" in out


@pytest.mark.parametrize(("text", "message"), CASES["wrong"].items())
def test_an_error_names_the_file_and_the_line(text, message, here, capsys):
    rest = {key: value for key, value in SMALL.items() if key != text.partition(":")[0]}
    (here / "a.yaml").write_text(yaml.safe_dump(rest) + text)
    line = len((here / "a.yaml").read_text().splitlines())
    (here / "first.yaml").write_text("runs: 1\n")
    assert main(["check", "first.yaml", "a.yaml"]) == 2
    assert capsys.readouterr().err.startswith(f"protocol: a.yaml, line {line}: {message}")


@pytest.mark.parametrize(("dataset", "queries", "error"), CASES["lists"])
def test_the_lists_of_a_split_are_read(dataset, queries, error, here, capsys):
    lists = {"query": queries, "train": "digit-0001\ndigit-0002\n", "database": "digit-0003\ndigit-0002\n"}
    for part, text in lists.items():
        (here / f"{part}.txt").write_text(text)
    own = {"dataset": dataset, "splits": ["from_lists"], "experiment": "lists"}
    text = yaml.safe_dump(SMALL | own | {"split_options": {"from_lists": {part: f"{part}.txt" for part in lists}}})
    (here / "a.yaml").write_text(text)
    assert main(["check", "a.yaml"]) == (2 if error else 0)
    line = text.splitlines().index("  from_lists:") + 1
    expected = f"protocol: a.yaml, line {line}: split 'from_lists': query.txt: {error}"
    out, err = capsys.readouterr()
    assert err.startswith(expected if error else f"query.txt: {counted(queries.count(chr(10)), 'item')}, id")
    shared = err.count("also in the list of `train`") + 2 * err.count("also in the list of `database`")
    assert shared == (0 if error or queries.count("\n") < 2 else 3)
    assert ("protocol audit --query query.txt --train train.txt --database database.txt\n" in out) == (not error)


@pytest.mark.parametrize("suffix", ["npy", "csv"])
@pytest.mark.parametrize("case", CASES["own data"], ids=str)
def test_own_data_are_read(suffix, case, here, monkeypatch, capsys):
    monkeypatch.setattr("protocol.datasets._dataset._BLOCK_BYTES", 400)
    X = np.random.default_rng(0).normal(size=(60, 20))
    X[case.get("bad", []), 3] = np.nan
    X[case.get("zero", [])] = 0
    np.save("x.npy", X)
    np.savetxt("x.csv", X, delimiter=",")
    options, truth = {"features": f"x.{suffix}"}, "class_label" if "counts" in case else "epsilon_ball"
    if "counts" in case:
        np.save("y.npy", np.repeat(np.arange(len(case["counts"])), case["counts"]))
        options["labels"] = "y.npy"
    own = {"dataset": "arrays", "dataset_options": options, "ground_truths": [truth]}
    own |= {"features": {"vectors": {"preprocessing": case.get("steps", [])}}}
    own |= {"split_sizes": {"query": 5, "train": 20}, "ground_truth_options": {"epsilon_ball": {"n_neighbours": 5}}}
    (here / "own.yaml").write_text(yaml.safe_dump(SMALL | own))
    out, err = case.get("out", ""), case.get("err", "")
    assert main(["check", "own.yaml"]) == (0 if out else 2)
    printed = capsys.readouterr()
    assert out in printed.out
    assert printed.err.startswith(err)
    assert err or not printed.err

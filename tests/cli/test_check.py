"""`protocol check`: what an experiment runs, or an error in one line."""

import sys

import pytest
import yaml

from protocol.cli import main

SMALL = {
    "experiment": "small",
    "dataset": "digits",
    "features": {"gist": {}, "little": {"base": "gist", "options": {"grid": 2}, "runs": 1}},
    "ground_truths": ["class_label"],
    "splits": ["standard", "improved"],
    "runs": 2,
    "split_sizes": {"query": 50, "train": 300},
    "hashers": ["lsh", {"name": "itq_5", "base": "itq", "options": {"n_iter": 5}}],
    "n_bits": [8, 16],
    "metrics": ["mAP"],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL))
    return str(path)


def test_it_prints_what_is_run(file, capsys):
    assert main(["check", file]) == 0
    out = capsys.readouterr().out
    for text in (
        "experiment small\n",
        "dataset    digits: 1,797 items, 10 classes, images of 8 x 8\n",
        "gist: 512 dimensions; 2 hashers x 2 code lengths x 2 runs x 2 splits\n",
        "little (gist): 128 dimensions; 2 hashers x 2 code lengths x 1 run x 2 splits\n",
        "files      none\n",
        "needs      3,001 MB of memory for a job of examples, or less\n",
        "           121 minutes for a job of model, or less\n",
    ):
        assert text in out


def test_the_default_experiment_is_checked_without_a_file(capsys):
    assert main(["check"]) == 0
    assert capsys.readouterr().out.startswith("experiment digits\n")


def test_later_files_add_to_earlier_ones(file, tmp_path, capsys):
    (tmp_path / "more.yaml").write_text("experiment: more\nsplit_sizes: {train: 200}\n")
    assert main(["check", file, str(tmp_path / "more.yaml")]) == 0
    assert capsys.readouterr().out.startswith("experiment more\n")


def test_keys_may_be_changed(file, capsys):
    assert main(["check", file, "--config", "n_bits=[32]", "experiment=other", "split_sizes={train: 400}"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("experiment other\n")
    assert "x 1 code length x" in out


def test_it_names_the_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SMALL | {"dataset": "cifar10", "splits": ["from_lists"]}
    for part in ("query", "train", "database"):
        (tmp_path / f"{part}.txt").write_text("1\n")
    text["split_options"] = {"from_lists": {part: f"{part}.txt" for part in ("query", "train", "database")}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(text))
    assert main(["check", "a.yaml"]) == 0
    out = capsys.readouterr().out
    assert (
        "files      cifar-10-binary.tar.gz\n           query.txt\n           train.txt\n           database.txt\n"
        in out
    )


def test_a_network_is_checked_without_pytorch_and_its_absence_is_the_last_line(file, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["check", file, "--config", "hashers=[lsh,csq]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("missing    hasher 'csq': torch is not installed. Install it in a checkout ")
    assert main(["check", file]) == 0
    assert "missing" not in capsys.readouterr().out


WRONG = {
    "n_bits: [8, 0]": "n_bits[1] must be an integer from 1 to 4096, got 0.",  # a wrong value in a list
    "runs: many": "runs must be an integer from 1 to 10000, got 'many'.",  # a wrong type
    "n_bit: [8]": "Unknown key 'n_bit' in the config file. Did you mean 'n_bits'?",
    "selection: {\n metrics: mAP}": "Unknown key 'metrics' in selection: choose ground_truth or metric. Did you ",
    "extension_bits: [1,\n [8]]": "extension_bits[1] must be an integer >= 1, got [8].",  # a nested list
    "hashers: [lsh,\n itqq]": "Unknown hasher 'itqq'. Did you mean 'itq'? `protocol list hashers` lists all ",
    "hashers: [{base: itq, options: {\n n_iter: x}}]": "hasher 'itq': option 'n_iter' must be an integer, got 'x'.",
    "hasher_options: {itq: {\n n_iters: 5}}": "Unknown option 'n_iters' of hasher 'itq': choose n_iter.",
    "features:\n gits: {}": "Unknown feature 'gits': choose ",
    "features: {gist: {splits: [\n improve]}}": "Unknown split 'improve'. Did you mean 'improved'?",
    "metrics: [mAP,\n MAP]": "Unknown metric 'MAP'. Did you mean 'mAP'?",
    "names: {hashers: {\n itq: LSH}}": "Unknown hasher 'itq' in names.hashers: choose itq_5 or lsh.",
    "dataset: cifar": "Unknown dataset 'cifar'. Did you mean 'cifar10'?",
    "runs: 2\nruns: 3": "not valid YAML: the key 'runs' is repeated (first in line ",
    "runs: ]": "not valid YAML: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_error_names_the_file_and_the_line(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rest = {key: value for key, value in SMALL.items() if key != text.partition(":")[0]}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(rest) + text)
    line = len((tmp_path / "a.yaml").read_text().splitlines())
    (tmp_path / "first.yaml").write_text("runs: 1\n")
    assert main(["check", "first.yaml", "a.yaml"]) == 2
    assert capsys.readouterr().err.startswith(f"protocol: a.yaml:{line}: {WRONG[text]}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["n_bits=[0]"], "--config n_bits: n_bits[0] must be an integer from 1 to 4096, got 0."),
        (["hashers=[LSH]"], "--config hashers: Unknown hasher 'LSH'. Did you mean 'lsh'?"),
        (["split_sizes={query: 0}"], "--config split_sizes: split_sizes.query must be an integer >= 1, got 0."),
    ],
)
def test_an_error_of_the_command_line_names_the_key(changes, message, file, capsys):
    for files in ([], [file]):
        assert main(["check", *files, "--config", *changes]) == 2
        assert capsys.readouterr().err.startswith(f"protocol: {message}")


def test_missing_keys_are_those_of_the_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("experiment: a\ndataset: digits\nfeatures: {gist: {}}\n")
    assert main(["check", "a.yaml"]) == 2
    missing = "ground_truths, splits, hashers, n_bits and metrics"
    assert capsys.readouterr().err == f"protocol: a.yaml: config file: the keys {missing} are missing.\n"

"""`protocol check`: the jobs and needs of an experiment, or an error in one line."""

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


def test_it_prints_the_jobs_and_their_needs(file, capsys):
    assert main(["check", file]) == 0
    out = capsys.readouterr().out
    for text in (
        "experiment small\n",
        "dataset    digits: 1,797 items, 10 classes, images of 8 x 8\n",
        "gist: 512 dimensions; 2 hashers x 2 code lengths x 2 runs x 2 splits\n",
        "little (gist): 128 dimensions; 2 hashers x 2 code lengths x 1 run x 2 splits\n",
        "files      none\n",
        "sample 2, split 4, preprocessing 3, ground_truth 3",
        "model 6, count 4",
        "feature matrices 4 MB in total\n",
        "MB, for a job of metrics\n",
        "minutes, for a job of report\n",
    ):
        assert text in out
    jobs = out.partition("jobs       ")[2].partition("needs")[0]
    total, _, rules = jobs.partition(" if there are no results yet\n")
    assert int(total) == sum(int(part.split()[1]) for part in " ".join(rules.split()).split(", "))


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


def test_the_jobs_of_a_leak_study_are_counted_and_their_needs_included(root, capsys):
    assert main(["check", str(root / "results" / "reference" / "leak" / "digits_leak.yaml")]) == 0
    out = capsys.readouterr().out
    assert "leak_score" in out.partition("needs")[0]
    assert "minutes, for a job of leak_score" in out


def test_a_network_is_checked_without_pytorch_and_its_absence_is_the_last_line(file, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["check", file, "--config", "hashers=[lsh,csq]"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("missing    hasher 'csq': torch is not installed. Install it in a checkout ")
    assert main(["check", file]) == 0
    assert "missing" not in capsys.readouterr().out

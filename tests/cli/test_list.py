"""`protocol list KIND NAME`: the explanation of one name."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from protocol import registry
from protocol.cli import main
from protocol.cli._explanation import entries
from protocol.configuration.options import options

ROOT = Path(__file__).parents[2]


def listed(capsys, *arguments):
    assert main(["list", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_every_plug_in_is_described_with_its_options(kind, capsys):
    for entry in registry.entries(kind):
        if any(mark in entry.name for mark in ("@K", "@rR", "F_beta")):
            continue
        text = listed(capsys, f"{kind}s", entry.name)
        assert text.startswith(f"{kind.replace('_', ' ')} {entry.name} ")
        for part in (entry.summary, entry.source, getattr(entry, "deviations", "")):
            assert " ".join(part.split()) in text
        for name, option in {} if kind == "metric" else options(kind, entry.name).items():
            assert f" {name}: " in text
            assert option.description in text


def test_a_hasher(capsys):
    assert main(["list", "hashers", "itq"]) == 0
    out = capsys.readouterr().out
    assert "  bits within features: yes\n" in out
    assert "  n_iter: int, default 50\n    Number of updates of R, at least 1.\n" in out


def test_a_metric(capsys):
    assert main(["list", "metrics", "mAP@K[all]"]) == 0
    out = capsys.readouterr().out
    assert "\n    AP@K = 1/N sum_{t=1}^K rel(t) (sum_{u <= t} rel(u))/t\n" in out
    for line in (
        "range of values: 0 to 1",
        "computed with: average_precision(ties='expected', cutoff=K, denominator='all', empty='zero')",
        "conventions: default",
        "source: He et al., Hashing as Tie-Aware Learning to Rank, eq. 17",
    ):
        assert f"\n  {line}\n" in out
    assert main(["list", "metric", "mAP@100[all]"]) == 0
    assert capsys.readouterr().out == out.replace("metric mAP@K[all]", "metric mAP@100[all]").replace("@10[", "@100[")


def test_the_list_of_metrics_names_undefined_values(capsys):
    text = listed(capsys, "metrics")
    assert "[Musgrave, Belongie and Lim 2020, A Metric Learning Reality Check, MAP@R] undefined values: A query" in text
    assert text.count(" undefined values: ") == len(registry.names("metric"))
    assert main(["list", "metrics", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| name | what it is | source | undefined values |\n")


def test_a_split(capsys):
    text = listed(capsys, "splits", "cifar10_s1")
    assert "query: 100 items of each class drawn at random train: 500 items of each class drawn at random " in text


def test_a_convention_and_a_finding(capsys):
    assert "reported as mAP: mAP, mAP@1000[retrieved]" in listed(capsys, "conventions", "talr")
    assert "how to fix it: Remove the queries from the database." in listed(capsys, "findings", "query-in-database")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with the names in the examples."""
    path = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(0)
    for side, n in (("q", 5), ("d", 300)):
        np.save(path / f"{side}.npy", rng.integers(0, 2, (n, 16)))
        np.save(path / f"{side}v.npy", rng.normal(size=(n, 64)))
        (path / f"{side}.csv").write_text("".join(f"{label}\n" for label in rng.integers(0, 3, n)))
    for name, rows in (("q", range(5)), ("d", range(5, 40)), ("t", range(20, 40))):
        (path / f"{name}.txt").write_text("".join(f"{row}\n" for row in rows))
    (path / "workflow").symlink_to(ROOT / "workflow")
    return path


@pytest.mark.parametrize("kind", [*registry.PACKAGES, "finding", "convention"])
def test_every_example_runs(kind, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    commands = {example(kind, entry.name, capsys): entry for entry in entries(kind)}
    for command, entry in commands.items():
        program, *arguments = shlex.split(command)
        assert program == "protocol"
        status, expected = main(arguments), {0, 1} if arguments[0] == "audit" else {0}
        error = capsys.readouterr().err
        if own := [*getattr(entry, "user_folders", ()), *getattr(entry, "user_files", ())]:
            assert f"dataset_options of {entry.name!r}: {own[0]}: " in error
        else:
            assert status in expected, command + error


def example(kind, name, capsys):
    assert main(["list", f"{kind}s", name]) == 0
    return capsys.readouterr().out.partition("\nexample:\n")[2].strip().split("\n")[0]

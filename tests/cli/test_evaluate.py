"""`protocol evaluate`: the scores of the Python function for files, and the outputs that options request."""

import contextlib
import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from scipy import io, sparse

from protocol import codes
from protocol.cli import main
from protocol.evaluation import CONVENTIONS, evaluate

RNG = np.random.default_rng(0)
QUERY, DATABASE = RNG.random((4, 12)) < 0.5, RNG.random((20, 12)) < 0.5
OF_QUERY, OF_DATABASE = RNG.integers(0, 4, 4), RNG.integers(0, 3, 20)
LABELS = {"query_labels": OF_QUERY, "database_labels": OF_DATABASE}
SIDES = ["evaluate", "--query-codes", "q.npy", "--database-codes", "d.npy"]
COMMAND = [*SIDES, "--query-labels", "ql.npy", "--database-labels", "dl.npy"]
_INPUTS = {f"--{side}-{kind}" for side in ("query", "database") for kind in ("codes", "labels")}


@pytest.fixture
def folder(here):
    """A folder with good files, and the working directory."""
    for name, array in {"q": QUERY, "d": DATABASE, "ql": OF_QUERY, "dl": OF_DATABASE}.items():
        np.save(f"{name}.npy", array)
    return here


def scores(*options, command=COMMAND):
    """Return what the command writes but for the files' names; a later option replaces an earlier one."""
    assert main([*command, *options, "--json", "out.json"]) == 0
    content = json.loads(Path("out.json").read_text())
    inputs = {option[2:].replace("-", "_") for option in command if option in _INPUTS}
    assert content.pop("inputs").keys() == inputs | {word[2:] for word in options if word == "--relevance"}
    return content


def test_the_scores_are_those_of_the_function(folder, capsys):
    for rules in (one for one in CONVENTIONS if not one.leave_one_out):
        result = evaluate(QUERY, DATABASE, **LABELS, convention=rules.name)
        assert scores("--convention", rules.name) == json.loads(result.to_json())
    assert capsys.readouterr().err == ""


def test_labels_are_put_in_the_order_of_the_ids_of_codes_without_ids(folder, capsys):
    for side, labels in {"q": OF_QUERY, "d": OF_DATABASE}.items():
        Path(f"{side}.txt").write_text("".join(f"{side}{row}\n" for row in range(len(labels))))
        lines = [f"{side}{row},{label}\n" for row, label in enumerate(labels)]
        Path(f"{side}l.csv").write_text("".join(["id,label\n", *lines[::-1]]))
    labels = ["--query-labels", "ql.csv", "--database-labels", "dl.csv"]
    ids = ["--query-ids", "q.txt", "--database-ids", "d.txt"]
    assert main([*SIDES, *labels]) == 2
    assert "Pass the ids of the codes, --query-ids and --database-ids, or ql.csv:label, if" in capsys.readouterr().err
    assert main([*SIDES, *labels, *ids, "--json", "ids.json"]) == 0
    assert "ql.csv: its rows are put in the order of q.txt, by id" in capsys.readouterr().err
    assert json.loads(Path("ids.json").read_text())["metrics"] == scores()["metrics"]
    assert main(["verify", "ids.json"]) == main(["verify", "ids.json", *SIDES[1:], *labels, *ids]) == 0


def test_labels_are_the_ground_truth_class_label_of_a_named_split(folder, capsys):
    for options, name in {
        ("--split", "s"): "class_label",
        ("--split", "s", "--ground-truth", "g"): "g",
        (): None,
    }.items():
        assert scores("--dataset", "digits", *options)["ground_truth"] == name
    said = "ground truth: recorded as class_label, as in experiments; --ground-truth gives it another name"
    assert capsys.readouterr().err.count(said) == 1


def test_a_hand_computed_case_from_text(folder, capsys):
    texts = {"q": "0,0\n", "d": "0,0\n0,1\n1,0\n1,1\n", "ql": "7\n", "dl": "7\n7\n8\n8\n"}
    for name, text in texts.items():
        Path(f"{name}.csv").write_text(text)
    metrics = ["--metrics", "mAP", "--metrics", "mAP[worst]", "--metrics", "precision@r1"]
    assert main([*(part.replace(".npy", ".csv") for part in COMMAND), *metrics]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 query, 4 database items, 2 bits\n\nmetric ")
    assert re.search(r"^mAP +0.9167  expected value +all relevant items$", out, re.M)
    assert re.search(r"^mAP\[worst\] +0.8333  relevant items last +all relevant items$", out, re.M)
    assert re.search(r"^precision@r1 +0.6667  not affected +items in the ball$", out, re.M)


def examples():
    """Return the commands in the help: the complete ones, and the last of them continued by each line with dots."""
    commands, texts = [], StringIO()
    for command in ("evaluate", "recall"):
        with pytest.raises(SystemExit), contextlib.redirect_stdout(texts):
            main([command, "--help-all"])
    for line in re.sub(r" \\\n +", " ", texts.getvalue()).split("\n"):
        start, *options = re.split("  +", line.strip())[0].split() or [""]
        if start == "protocol" and line.startswith("  "):
            complete = options
        if start == "..." or (start == "protocol" and line.startswith("  ")):
            commands.append(options if start == "protocol" else complete + options)
    return commands


def test_the_examples_of_the_help_run(here, capsys):
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
    for name, real in sides.items():
        Path(f"{name}.txt").write_text("".join(f"{name}{row}\n" for row in range(len(real))))
    Path("qrels.txt").write_text("q0 0 d7 1\nq3 0 d1499 2\n")
    Path("run.txt").write_text("q0 Q0 d7 1 0.5 x\n")
    distances = np.not_equal(sides["q"][:, None] > 0, sides["d"] > 0).sum(axis=2)
    np.save("ids.npy", distances.argsort(axis=1, kind="stable")[:, :10])
    np.save("distances.npy", np.sort(distances, axis=1)[:, :10])
    commands = examples()
    assert len(commands) >= 14
    assert sum("--query-vectors" in command for command in commands) == 7
    for command in commands:
        assert main(command) == 0, command
    assert all(" items, " in line for line in capsys.readouterr().err.splitlines())  # how the inputs were read


def test_bucket_search(folder, capsys):
    """A single table of all bits is the ball of radius 0."""
    content = scores(
        *("--tables", "12x1", "--tables", "1x12"),
        *("--metrics", "precision@r0[micro]", "--metrics", "recall@r0[micro]", "--metrics", "precision@r11[micro]"),
    )
    result, means = content["bucket_search"], content["metrics"]
    assert result["12x1"]["precision[micro]"] == means["precision@r0[micro]"]
    assert result["12x1"]["recall[micro]"] == means["recall@r0[micro]"]
    # one bit a table: everything that agrees anywhere
    assert result["1x12"]["precision[micro]"] == pytest.approx(means["precision@r11[micro]"], rel=1e-12)
    assert result["1x12"]["F1[micro]"] > 0
    assert "12x1" in capsys.readouterr().out

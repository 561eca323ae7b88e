"""`protocol init`: a config file for the user's own data."""

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml
from sklearn.datasets import load_digits

from protocol import configuration
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.configuration.schema import keys

CASES = yaml.safe_load(Path(__file__).with_name("init.yaml").read_text())
pytestmark = pytest.mark.usefixtures("here")


def printed(capsys, *arguments):
    assert main(["init", *arguments]) == 0
    return capsys.readouterr().out


def draw(number, *path):
    """Write an image below photos."""
    file = Path("my photos", *path, f"{number}.png")
    file.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(file), np.full((8, 8, 3), number, np.uint8))


def save(n, d, labels=None):
    np.save("My X.npy", np.random.default_rng(0).normal(size=(n, d)).astype(np.float32))
    if labels is not None:
        np.save("y.npy", labels)
    return ["--features", "My X.npy", *(["--labels", "y.npy"] if labels is not None else [])]


def test_the_values_follow_from_the_files(capsys):
    X, y = load_digits(return_X_y=True)
    np.save("My X.npy", X)
    np.save("y.npy", y)
    text = printed(capsys, "--features", "My X.npy", "--labels", "y.npy")
    assert yaml.safe_load(text) == CASES["digits"]
    assert text.startswith("# Made by `protocol init` for 1,797 items, 10 classes (0, 1, 2, 3, 4 and 5 more). ")
    words = " ".join(re.sub("^#", "", text, flags=re.M).split())
    assert "Most vectors are 54.3 to 68.7 long. The cosine ignores their length; with [l2, centre], hashers do" in words
    np.save("My X.npy", X / np.linalg.norm(X, axis=1, keepdims=True))
    X[7] = 0
    np.save("zero.npy", X)
    assert yaml.safe_load(printed(capsys, "--features", "zero.npy", "--labels", "y.npy"))["unhashed"] == "euclidean"
    assert "Most vectors" not in printed(capsys, "--features", "My X.npy", "--labels", "y.npy")


def test_the_comments_are_the_descriptions_of_the_keys(capsys):
    text = printed(capsys, *save(300, 40, np.arange(300) % 3))
    Path("all.yaml").write_text(text)
    assert main(["check", "all.yaml"]) == 0
    words = " ".join(re.sub("^#", "", text, flags=re.M).split())
    shown = {key: declared for key, declared in keys()["properties"].items() if re.search(f"^{key}:", text, re.M)}
    assert {"splits", "split_sizes", "hashers", "runs"} <= shown.keys()
    for declared in shown.values():
        assert " ".join(declared["description"].split()) in words
    assert f"train: {keys()['properties']['split_sizes']['properties']['train']['description']}" in words


@pytest.mark.parametrize("case", CASES["sizes"], ids=str)
def test_other_sizes(case, capsys):
    counts, expected = case["counts"] * case.get("classes", 1), case["expected"]
    labels = np.repeat(np.arange(len(counts)), counts) if len(counts) > 1 else None
    arguments = save(sum(counts), case["d"], labels)
    config = yaml.safe_load(printed(capsys, *arguments, "--experiment", "mine"))
    assert config | expected | {"experiment": "mine"} == config
    assert configuration.load(config)


@pytest.mark.parametrize("classes", [("cat", "dog"), ("",), ("all",)])
def test_a_folder_of_images(classes, capsys):
    for number in range(60):
        draw(number, classes[number % len(classes)])
    assert main(["init", "--images", "my photos/"]) == 0
    text, note = capsys.readouterr()
    config = yaml.safe_load(text)
    assert config["dataset_options"] == {"folder": "my photos/", "image_size": 128}
    assert "# image_size: Side, in pixels, of the square to which the centre of each image is scaled.\n" in text
    has_classes = len(classes) == 2
    assert ("2 classes (cat, dog)" in text, note == "") == (has_classes, has_classes)
    assert has_classes or note.startswith(
        "my photos/ has fewer than two subfolders with images, so there are no classes"
    )
    assert note[:-1] in " ".join(text.replace("\n#", "").split())
    options = {} if has_classes else {"epsilon_ball": {"n_neighbours": 11}}
    assert config.get("ground_truth_options", {}) == options
    with pytest.raises(ProtocolError, match="n_neighbours must be less than 34, the database size, got 50"):
        configuration.load(config | {"ground_truths": ["epsilon_ball"], "ground_truth_options": {}})
    assert config["features"] == {"gist": {"preprocessing": ["centre"]}}
    assert config["ground_truths"] == (["class_label"] if has_classes else ["epsilon_ball"])
    assert ("sdh" in config["hashers"]) == has_classes
    assert configuration.load(config)


@pytest.mark.parametrize(("n_items", "classes", "status"), CASES["few"])
def test_too_few_items_are_refused(capsys, n_items, classes, status):
    """Rather than by the first stage that can't work with so few."""
    np.save("x.npy", np.random.default_rng(0).random((n_items, 4)))
    np.save("y.npy", np.resize(classes, n_items))
    assert main(["init", "--features", "x.npy", *["--labels", "y.npy"] * (len(classes) > 1)]) == status
    expected = f"protocol: x.npy: {n_items} items, too few for queries, a training set and a database. Use at least 18"
    assert capsys.readouterr().err.startswith(expected) == (status == 2)


def test_folders_that_may_be_no_classes_are_not_taken_for_them_in_silence(capsys):
    for number in range(60):
        draw(number, ("train", "Test_images")[number % 2], "Aß Q"[number % 3 + 1])
        draw(number, "domains", ("art", "photo")[number % 2], "aq"[number % 3 > 0])
    Path("my photos/domains").rename("domains")
    assert main(["init", "--images", "my photos"]) == 2
    message = capsys.readouterr().err
    assert "my photos: its subfolders (Test_images, train) are named like partitions of a split, not like " in message
    assert "Name one of them (my photos/train), or a file of labels (init: --labels) and your split as lists" in message
    assert main(["init", "--images", "my photos/train"]) == 0
    assert main(["find-duplicates", "--query", "my photos"]) == 0
    capsys.readouterr()
    assert main(["init", "--images", "domains"]) == 0
    note = "domains (art, photo), and all of them have the same subfolders (a, q). If these are the classes, name one"
    assert note in capsys.readouterr().err


def test_small_classes_are_named_with_the_sizes_without_them(capsys):
    classes = "a" * 400 + "c" * 300 + "d" * 90
    for number, name in enumerate(classes):
        draw(number % 256, f"{name}/{number}")
    images, features = ["--images", "my photos"], save(len(classes), 9, np.array([*classes]))
    for arguments, remedy in ((images, "`mv 'my photos/d' 'my photos/.d'`"), (features, "from My X.npy and y.npy, ")):
        assert main(["init", *arguments]) == 0
        text, note = capsys.readouterr()
        assert yaml.safe_load(text)["split_sizes"] == {"query": 30, "train": 100}
        parts = ("limited by small classes (d: 90)", "could be {query: 70, train: 300}: ", remedy)
        assert [part for part in parts if part not in note] == []
    others = yaml.safe_load(text[text.index("# splits:") :].replace("# ", ""))
    Path("own.yaml").write_text(yaml.safe_dump(yaml.safe_load(text) | others))
    capsys.readouterr()
    assert main(["check", "own.yaml"]) == 0
    assert "improved_natural: query 70, train 300, database 420" in capsys.readouterr().out


def test_if_small_classes_leave_few_queries_items_are_drawn_whatever_their_classes(capsys):
    classes = "a" * 150 + "b" * 15 + "c" * 60 + "d" * 10
    for number, name in enumerate(classes):
        draw(number, name)
    images, features = ["--images", "my photos"], save(len(classes), 9, np.array([*classes]))
    for arguments in (images, features):
        assert main(["init", *arguments]) == 0
        text, note = capsys.readouterr()
        config = yaml.safe_load(text)
        assert (config["split_sizes"], config["splits"][0]) == ({"query": 20, "train": 100}, "improved_natural")
        assert "small classes (d: 10, b: 15) would leave split_sizes of {query: 4, train: 20}: the end of" in note
    others = yaml.safe_load(text[text.index("# splits:") :].replace("# ", ""))
    Path("own.yaml").write_text(yaml.safe_dump(config | others))
    capsys.readouterr()
    assert main(["check", "own.yaml"]) == 0
    assert "improved: query 4, train 20, database 211; fewer than 30 queries" in capsys.readouterr().out
    draw(1, "e")
    assert main(["init", *images]) == 0
    note = capsys.readouterr().err
    assert note.endswith(
        "1 class with a single item (e): if it becomes a query, the database has nothing relevant for it. "
        "Add items to each, or remove it.\n"
    )


def test_a_flat_folder_with_a_file_of_labels(capsys):
    for number in range(60):
        draw(number)
    Path("l.csv").write_text(
        "image,kind\n" + "".join(f"my photos/{number},{'ab'[number % 2]}\n" for number in range(60))
    )
    assert main(["init", "--images", "my photos", "--labels", "l.csv"]) == 0
    text, note = capsys.readouterr()
    *_, matched, ordered, end = note.split("\n")
    assert matched == "l.csv: 60 ids in another form, matched one to one: 'my photos/0' for '0.png'"
    assert (ordered, end) == ("l.csv: its rows are put in the order of the items, by id", "")
    assert yaml.safe_load(text)["dataset_options"] == {"folder": "my photos", "labels": "l.csv", "image_size": 128}
    assert text.startswith("# Made by `protocol init` for 60 items, 2 classes (a, b). ")

"""The key `codes`: the files that it names, and the errors that are found before any job starts."""

import copy
from pathlib import Path

import numpy as np
import pytest
from project import SMALL

from protocol import configuration
from protocol.checks import ProtocolError

MINE = {
    "query": "codes/{split}/run{run}/query_{n_bits}.npy",
    "database": "codes/{split}/run{run}/database_{n_bits}.npy",
}
ROWS = {"standard": {"query": 50, "database": 1747}, "improved": {"query": 50, "database": 1297}}
ONE_RUN = {"runs": 1, "splits": ["improved"], "n_bits": [16]}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with every file that `MINE` names."""
    monkeypatch.chdir(tmp_path)
    for split in SMALL["splits"]:
        for run in range(SMALL["runs"]):
            folder = tmp_path / "codes" / split / f"run{run}"
            folder.mkdir(parents=True)
            for n_bits in SMALL["n_bits"]:
                for role in ("query", "database"):
                    codes = np.zeros((ROWS[split][role], n_bits // 8), dtype=np.uint8)
                    np.save(folder / f"{role}_{n_bits}.npy", codes)
    return tmp_path


def load(methods, **changes):
    return configuration.load(copy.deepcopy(SMALL) | changes | {"codes": methods})


def refused(methods, **changes):
    with pytest.raises(ProtocolError) as error:
        load(methods, **changes)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_configuration_with_all_defaults_is_a_valid_configuration(here):
    experiment = load({"mine": MINE})
    assert experiment.config["codes"] == {
        "mine": MINE | {"feature": "gist", "splits": SMALL["splits"], "n_bits": [8, 16], "bit_order": "little"}
    }
    assert configuration.load(experiment.config) == experiment
    assert experiment.codes["mine"].files("improved", 1)[16] == {
        "query": "codes/improved/run1/query_16.npy",
        "database": "codes/improved/run1/database_16.npy",
    }
    assert load({}).codes == {}


def test_a_method_is_scored_like_a_hasher_where_it_has_codes(here):
    experiment = load({"mine": MINE, "part": MINE | {"splits": ["improved"], "n_bits": ["16"]}})
    scored = [(one.split, one.run, one.hasher) for one in experiment.combinations() if one.finished]
    assert scored == [
        ("standard", 0, "mine"),
        ("standard", 1, "mine"),
        ("improved", 0, "mine"),
        ("improved", 0, "part"),
        ("improved", 1, "mine"),
        ("improved", 1, "part"),
    ]
    jobs = configuration.Plan(experiment).jobs()
    assert (jobs["model"], jobs["finished_codes"], jobs["count"], jobs["score"]) == (4, 4, 8, 4)
    job = configuration.Plan(experiment).job({"feature": "gist", "draw": "thesis", "run": "1", "hasher": "part"})
    assert job.files("{split}") == list(job.code_files) == ["improved"]
    paths = [Path("codes/improved/run1/query_16.npy"), Path("codes/improved/run1/database_16.npy")]
    assert job.code_paths == paths
    assert configuration.need(experiment, "finished_codes")["mem_mb"] > 500


def test_a_method_belongs_to_one_feature(here):
    features = {"gist": {}, "pixels": {"runs": 1, "splits": ["improved"], "n_bits": [16]}}
    experiment = load({"mine": MINE | {"feature": "pixels"}}, features=features)
    assert (experiment.finished("gist"), experiment.finished("pixels")) == ([], ["mine"])
    assert (experiment.codes["mine"].splits, experiment.codes["mine"].n_bits) == (["improved"], [16])
    message = refused({"mine": MINE | {"feature": "pixel"}}, features=features)
    assert message == "codes.mine.feature: expected gist or pixels, got 'pixel'. Did you mean 'pixels'?"
    features["sift"] = {"options": {"items": "local"}}
    message = refused({"mine": MINE | {"feature": "sift"}}, features=features)
    assert message.startswith("codes.mine.feature: expected a feature with one item per image, since each row")


def test_the_first_missing_file_is_named(here):
    (here / "codes" / "improved" / "run1" / "query_16.npy").unlink()
    assert refused({"mine": MINE}) == (
        "codes.mine.query: expected a file for the improved split, run 1 and 16 bits, got none at "
        f"'codes/improved/run1/query_16.npy' (looked in {here})."
    )
    load({"mine": MINE | {"splits": ["standard"]}})


def test_a_file_has_a_code_for_each_item(here):
    np.save(here / "codes" / "improved" / "run1" / "query_16.npy", np.zeros((49, 2), dtype=np.uint8))
    assert refused({"mine": MINE}) == (
        "codes.mine.query: codes/improved/run1/query_16.npy: 49 codes for the 50 items of `query` in the improved "
        "split."
    )


def test_an_array_inside_a_file(here):
    for role in ("query", "database"):
        np.savez(
            here / f"{role}.npz",
            **{
                f"run{run}_{n_bits}": np.zeros((ROWS["improved"][role], n_bits)) for run in (0, 1) for n_bits in (8, 16)
            },
        )
    inside = {"query": "query.npz:run{run}_{n_bits}", "database": "database.npz:run{run}_{n_bits}"}
    experiment = load({"mine": inside | {"splits": ["improved"]}})
    job = configuration.Plan(experiment).job({"feature": "gist", "draw": "thesis", "run": "0", "hasher": "mine"})
    assert job.code_paths == [Path("query.npz"), Path("database.npz")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("itq", "codes.itq: expected a name that no hasher has, for example 'my_itq', got 'itq'."),
        ("sph", "codes.sph: expected a name that no hasher has, for example 'my_sph', got 'sph'."),
        ("itq_5", "codes.itq_5: expected a name that no hasher has, for example 'my_itq_5', got 'itq_5'."),
        ("My net", "codes.My net: expected a name of lower-case letters, digits and _, got 'My net'."),
        ("scores", "codes.scores: expected a name other than benchmarks, display, "),
    ],
)
def test_names_that_are_not_allowed(here, name, message):
    hashers = ["itq", {"name": "itq_5", "use": "itq", "options": {"n_iter": 5}}]
    assert refused({name: MINE}, hashers=hashers).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"query": "codes/{splits}/run{run}/query_{n_bits}.npy"},
            (
                "codes.mine.query: placeholder in 'codes/{splits}/run{run}/query_{n_bits}.npy': expected n_bits, run "
                "or split, got 'splits'. Did you mean 'split'?"
            ),
        ),
        ({"query": "codes/{run"}, "codes.mine.query: expected a file name with placeholders in braces, got "),
        ({"query": "{run:no}"}, "codes.mine.query: expected a file name with placeholders in braces, got "),
        ({"splits": ["improve"]}, "codes.mine.splits: expected improved or standard, got 'improve'. Did you mean"),
        ({"n_bits": [16, 64]}, "codes.mine.n_bits: expected 16 or 8, got '64'."),
        ({"bit_order": "middle"}, "codes.mine.bit_order: expected 'little', 'big' or 'big-128', got 'middle'."),
        ({"binarize": "mean"}, "codes.mine.binarize: expected 'sign' or 'median', got 'mean'."),
        (
            {"queries": "x"},
            "key in codes.mine: expected binarize, bit_order, database, feature, n_bits, query or splits, got",
        ),
    ],
)
def test_invalid_values(here, changes, message):
    assert refused({"mine": MINE | changes}).startswith(message)


def test_both_names_of_files_are_required(here):
    assert refused({"mine": {"query": "q.npy"}}) == "codes.mine: the key database is missing."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"query": "codes/improved/run{run}/query_8.npy"},
            (
                "codes.mine.query: expected {n_bits} in the file name, since each file contains codes of "
                "one code length, got 'codes/improved/run{run}/query_8.npy'."
            ),
        ),
        (
            {"query": "codes/improved/run0/query_{n_bits}.npy"},
            (
                "codes.mine.query: expected {run} in the file name, since the runs have different queries, "
                "got 'codes/improved/run0/query_{n_bits}.npy'."
            ),
        ),
        (
            {"database": "codes/improved/run{run}/database_{n_bits}.npy"},
            (
                "codes.mine.database: expected {split} in the file name, since the splits have different "
                "databases, got 'codes/improved/run{run}/database_{n_bits}.npy'."
            ),
        ),
        ({"query": "codes/improved/run{run}/query_{n_bits}.npy"}, None),  # splits of one draw share their queries
    ],
)
def test_a_file_can_not_hold_the_codes_of_different_items(here, changes, message):
    if message is None:
        load({"mine": MINE | changes})
    else:
        assert refused({"mine": MINE | changes}) == message


def test_placeholders_are_needed_only_for_what_differs(here):
    plain = {"query": "codes/improved/run0/query_16.npy", "database": "codes/improved/run0/database_16.npy"}
    load({"mine": plain}, **ONE_RUN)
    assert "expected {run} in" in refused({"mine": plain}, **ONE_RUN | {"runs": 2})


def test_official_partitions_are_the_same_in_every_run(here):
    plain = {"query": "query.npy", "database": "database.npy"}
    np.save(here / "query.npy", np.zeros((10_000, 2), dtype=np.uint8))
    np.save(here / "database.npy", np.zeros((50_000, 2), dtype=np.uint8))
    load({"mine": plain}, **ONE_RUN | {"dataset": "cifar10", "splits": ["cifar10_s2"], "runs": 3})

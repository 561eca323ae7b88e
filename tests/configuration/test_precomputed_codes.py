"""The key `codes`: the files that it names, and the errors that are found before any job starts."""

import copy

import numpy as np
import pytest
from encoded import message_of
from project import SMALL

from protocol import configuration

MINE = {
    "query": "codes/{split}/run{run}/query_{n_bits}.npy",
    "database": "codes/{split}/run{run}/database_{n_bits}.npy",
}
ROWS = {"standard": {"query": 50, "database": 1747}, "improved": {"query": 50, "database": 1297}}
ONE_RUN = {"runs": 1, "splits": ["improved"], "n_bits": [16]}


@pytest.fixture
def here(here):
    """A folder with every file that `MINE` names."""
    for split in SMALL["splits"]:
        for run in range(SMALL["runs"]):
            folder = here / "codes" / split / f"run{run}"
            folder.mkdir(parents=True)
            for n_bits in SMALL["n_bits"]:
                for role in ("query", "database"):
                    codes = np.zeros((ROWS[split][role], n_bits // 8), dtype=np.uint8)
                    np.save(folder / f"{role}_{n_bits}.npy", codes)
    return here


def load(methods, **changes):
    return configuration.load(copy.deepcopy(SMALL) | changes | {"codes": methods})


def refused(methods, **changes):
    return message_of(load, methods, **changes)


def test_the_configuration_with_all_defaults_is_a_valid_configuration(here):
    experiment = load({"mine": MINE})
    complete = {"feature": "gist", "splits": SMALL["splits"], "n_bits": [8, 16]}
    assert experiment.config["codes"] == {"mine": MINE | complete}
    assert configuration.load(experiment.config) == experiment


def test_a_method_is_scored_like_a_hasher_where_it_has_codes(here):
    experiment = load({"mine": MINE, "part": MINE | {"splits": ["improved"], "n_bits": ["16"]}})
    rows = [row for row in experiment.combinations if row["hasher"] in experiment.codes]
    scored = [f"{row['split']}{row['run']} {row['hasher']}" for row in rows]
    of_standard, of_improved = ("standard0 mine", "standard1 mine"), ("improved0 mine", "improved0 part")
    assert scored == [*of_standard, *of_improved, "improved1 mine", "improved1 part"]
    features = {"gist": {}, "pixels": {"runs": 1, "splits": ["improved"], "n_bits": [16]}}
    other = load({"mine": MINE | {"feature": "pixels"}}, features=features)
    assert [other.precomputed(name, "improved") for name in features] == [[], ["mine"]]
    plan, job = configuration.Plan(experiment), {"feature": "gist", "sample": "random", "run": "1", "hasher": "part"}
    assert plan.each("{split}", job) == list(plan.code_files(job)) == ["improved"]
    assert plan.code_paths(job) == ["codes/improved/run1/query_16.npy", "codes/improved/run1/database_16.npy"]


def test_each_file_exists_and_has_a_code_for_each_item(here):
    file = here / "codes" / "improved" / "run1" / "query_16.npy"
    np.save(file, np.zeros((49, 2), dtype=np.uint8))
    items = "the 50 items of `query` in the improved split"
    assert refused({"mine": MINE}) == f"codes.mine.query: codes/improved/run1/query_16.npy: 49 codes for {items}."
    file.unlink()
    missing = f"codes.mine.query: codes/improved/run1/query_16.npy: no such file (looked in {here})."
    assert refused({"mine": MINE}) == missing
    load({"mine": MINE | {"splits": ["standard"]}})


def test_placeholders_are_needed_only_for_what_differs(here):
    plain = {"query": "codes/improved/run0/query_16.npy", "database": "codes/improved/run0/database_16.npy"}
    load({"mine": plain}, **ONE_RUN)
    assert "query_16.npy' needs {run}." in refused({"mine": plain}, **ONE_RUN | {"runs": 2})


def test_official_partitions_are_the_same_in_every_run(here):
    plain = {"query": "query.npy", "database": "database.npy"}
    np.save(here / "query.npy", np.zeros((10_000, 2), dtype=np.uint8))
    np.save(here / "database.npy", np.zeros((50_000, 2), dtype=np.uint8))
    load({"mine": plain}, **ONE_RUN | {"dataset": "cifar10", "splits": ["cifar10_s2"], "runs": 3})

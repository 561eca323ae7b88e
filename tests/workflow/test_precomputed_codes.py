"""Precomputed codes in the pipeline, and the code on the page that describes how to write them."""

import contextlib
from pathlib import Path

import numpy as np
import page_blocks
import pandas as pd
import pytest
import yaml
from browser import opened
from project import RESULTS, SMALL, Results

from protocol import codes, load_split
from protocol.provenance import storage
from protocol.scores.summary import at

pytestmark = pytest.mark.ci
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "train-on-our-split.md").read_text()
FILES = {role: f"codes/{{split}}/run{{run}}/itq/{role}_{{n_bits}}.npy" for role in ("query", "database")}
METHODS = {"exported": FILES, "exported_part": FILES | {"splits": ["improved"], "n_bits": [16]}}


def export(results):
    """Write the codes of itq, in the order of the splits, to files of a user."""
    for path in results.folder.glob(f"{RESULTS}/splits/*/run*/splits.h5"):
        *_, split, run, _ = path.parts
        folder = results.folder / "codes" / split / run / "itq"
        folder.mkdir(parents=True)
        stored = storage.read(results.folder / RESULTS / "gist" / "random" / run / "itq" / "codes.h5")
        for n_bits, pair in codes.of_split(stored, vars(load_split(path))).items():
            for role, packed in pair.items():
                np.save(folder / f"{role}_{n_bits}.npy", codes.unpack(packed, n_bits))


def blocks(language):
    """Return the page's blocks of code, for the small experiment with its two runs."""
    return [
        block.text.replace("results/digits/", f"{RESULTS}/").replace("RUNS, SPLITS = 16, 10", "RUNS, SPLITS = 16, 2")
        for block in page_blocks.blocks(PAGE)
        if block.language == language
    ]


def namespace(folder, *parts):
    """Run blocks of code in a folder, and return the names that they define."""
    names = {"__name__": "page"}
    with contextlib.chdir(folder):
        exec("\n".join(parts), names)
    return names


@pytest.fixture(scope="module")
def config():
    (of_page,) = blocks("yaml")
    return SMALL | {"codes": METHODS | yaml.safe_load(of_page)["codes"]}


@pytest.fixture(scope="module")
def scored(tiny, tmp_path_factory, config):
    """A copy of `tiny` with the codes of the page's program, and itq's codes under two other names."""
    pytest.importorskip("torch")
    results = tiny.copy_to(Results(tmp_path_factory.mktemp("scored")))
    export(results)
    namespace(results.folder, blocks("python")[2])
    jobs = {"precomputed_codes": 6, "count": 3, "score": 3, "metrics": 1, "claims": 1, "examples": 2, "report": 1}
    assert results.planned(config, "report") == jobs
    return results.stages(config, "all", "paper")


def scores(results, hasher, name="summary.csv"):
    table = pd.read_csv(results.folder / RESULTS / name)
    return table[table["hasher"] == hasher].drop(columns="hasher").reset_index(drop=True)


@pytest.mark.parametrize("name", ["summary.csv", "metrics.csv"])
def test_exported_codes_score_as_the_hasher_that_made_them(scored, tiny, name):
    itq, *exported = (scores(scored, method, name) for method in ("itq", "exported", "exported_part"))
    for hasher in SMALL["hashers"]:
        pd.testing.assert_frame_equal(scores(scored, hasher, name), scores(tiny, hasher, name))
    if name == "summary.csv":
        assert [set(table.pop("supervision")) for table in (itq, *exported)] == [{"none"}, {"unknown"}, {"unknown"}]
    part = itq[(itq["split"] == "improved") & (itq["n_bits"] == 16)].reset_index(drop=True)
    assert len(part)
    for table, expected in zip(exported, (itq, part), strict=True):
        pd.testing.assert_frame_equal(table, expected)


def test_the_page_s_network_learns(scored):
    rows = at(scores(scored, "my_network"), metric="mAP", ground_truth="class_label", extension="none")
    assert rows["split"].tolist() == ["improved", "standard"]
    assert (rows["n_runs"] == 2).all()
    assert (rows["mean"] > 0.5).all()


def test_they_are_in_every_table_and_figure(scored, browser):
    shown = {path: pd.read_csv(path) for path in sorted((scored.folder / RESULTS).glob("gist/examples/*/*.csv"))}
    assert len(shown) == 10
    for path, table in shown.items():
        found, expected = set(table["hasher"]), {"lsh", "itq", "exported"}
        if path.stem != "histogram":  # of the shortest codes
            expected |= {"my_network"} | ({"exported_part"} if "improved" in path.parts else set())
        assert found == expected, path
    with opened(browser, scored.folder / RESULTS / "report.html", width=900) as (tab, wrong):
        text = tab.evaluate("document.body.textContent")
        assert wrong == []
    assert "The codes of exported, exported_part and my_network are precomputed." in text
    assert "· 5 hashers ·" in text
    for name in ("scores-mAP", "precision-at-n-16", "pr-curves-*"):
        (figure,) = (scored.folder / RESULTS / "figures").glob(f"{name}-gist-class-label-standard.svg")
        assert "exported" in figure.read_text(), name


def test_the_file_of_codes_records_its_input_files(scored):
    path = scored.folder / RESULTS / "gist" / "random" / "run1" / "exported_part" / "codes.h5"
    record = storage.read_provenance(path)
    files = [f"codes/improved/run1/itq/{role}_16.npy" for role in ("database", "query")]
    assert record["parameters"]["files"] == {file: storage.file_sha256(scored.folder / file) for file in files}
    assert any("'exported_part' were made outside this pipeline" in note for note in record["notes"])
    assert set(storage.grouped(storage.read(path))) == {"improved"}
    counts = storage.read_provenance(scored.folder / RESULTS / "gist" / "counts" / "exported_part.h5")
    assert counts["inputs"]["codes/improved/run1"] == record["digest"]


def test_a_changed_file_scores_its_own_run_again(scored, config):
    assert scored.planned(config, "report", "paper") == {}
    file = scored.folder / "codes" / "improved" / "run1" / "query_16.npy"
    np.save(file, ~np.load(file))
    again = {"precomputed_codes": 1, "count": 1, "score": 1, "metrics": 1, "claims": 1, "examples": 2, "report": 1}
    assert scored.planned(config, "report") == again


def test_the_five_lines_read_what_load_split_reads(tiny):
    with_package, without, _ = blocks("python")
    assert "protocol" not in without
    assert len(list(filter(None, without.splitlines()))) == 5
    names = namespace(tiny.folder, with_package, without)
    split, partitions = names["split"], names["partitions"]
    assert len(partitions) == 5
    assert len(split.query) == 50
    for name, rows in partitions.items():
        np.testing.assert_array_equal(getattr(split, name), rows)
        assert rows.dtype == getattr(split, name).dtype
    np.testing.assert_array_equal(names["labels"], split.labels)

"""A method with asymmetric ranking never has the same name as one with Hamming ranking."""

import json

import numpy as np
import pytest
from encoded import evaluated

from protocol.checks import ProtocolError
from protocol.comparison import compare
from protocol.comparison.reading import read_scores

RNG = np.random.default_rng(0)
OUTPUTS = RNG.normal(size=(60, 16))
GIVEN = {"query_labels": np.arange(20) % 3, "database_labels": np.arange(40) % 3, "binarize": "sign"}
GIVEN |= {"metrics": ["mAP"]}
NAMES = {"dataset": "toy", "split": "own", "ground_truth": "labels"}


def scored(ranking, name="csq"):
    return evaluated(OUTPUTS[:20], OUTPUTS[20:], **GIVEN, ranking=ranking).named(name, **NAMES)


@pytest.fixture
def files(tmp_path):
    paths = []
    for ranking in ("hamming", "asymmetric"):
        found = scored(ranking)
        found.write_per_query(tmp_path / f"{ranking}.csv")
        found.write_json(tmp_path / f"{ranking}.json", per_query=tmp_path / f"{ranking}.csv")
        paths.append(tmp_path / f"{ranking}.json")
    return paths


def test_the_method_has_the_name_of_its_ranking(files):
    for sources in (files, [scored("hamming"), scored("asymmetric")]):
        found = compare(*sources)
        table = found.to_frame()
        assert table["method"].tolist() == ["csq", "csq (asymmetric)"]
        assert table["ranking"].tolist() == ["hamming", "asymmetric"]
        differences = found.differences_to_frame()
        assert set(differences["method"]) | set(differences["reference"]) == {"csq", "csq (asymmetric)"}
        assert differences["n_pairs"].tolist() == [20]
        rows = [row for section in found.sections for one in section.tables for row in one.rows]
        assert all(row[0] in ("csq", "csq (asymmetric)") for row in rows)


def test_ambiguous_method_names_get_the_name_of_their_file():
    table = compare(scored("hamming", "csq (asymmetric)"), scored("asymmetric")).to_frame()
    assert table["method"].is_unique
    assert all("(asymmetric) (" in method for method in table["method"])


def test_the_ranking_is_required_of_a_json(files):
    content = json.loads(files[0].read_text())
    for value in (None, "cosine", ["hamming"]):
        files[0].write_text(json.dumps(content | {"ranking": value}))
        with pytest.raises(ProtocolError, match=r"hamming[.]json: ranking: expected hamming or asymmetric, got "):
            read_scores(files[0])
    del content["ranking"]
    files[0].write_text(json.dumps(content))
    with pytest.raises(ProtocolError, match=r"hamming[.]json: ranking: expected hamming or asymmetric, got none"):
        read_scores(files[0])


def test_the_ranking_of_a_summary(experiment):
    (score,) = read_scores(experiment("a"))
    assert (score.method, score.ranking) == ("itq, gist", "hamming")
    (score,) = read_scores(experiment("b", {"ranking": "asymmetric"}))
    assert (score.method, score.ranking) == ("itq, gist (asymmetric)", "asymmetric")
    (score,) = read_scores(experiment("c", old=True))
    assert score.ranking == "hamming"
    with pytest.raises(ProtocolError, match=r"summary[.]csv: ranking: expected hamming or asymmetric, got 'x'"):
        read_scores(experiment("d", {"ranking": "x"}))


def test_what_a_method_learned_from_is_part_of_its_name(experiment):
    """The same hasher trained on labels and on distances is never one method, and its scores are never paired."""
    values = {"hasher": "ksh", "values": [0.1, 0.2, 0.3]}
    kinds = ("labels", "distances of gist (graded_distance)", "none", "unknown", "")
    sources = [experiment(f"run{at}", values | {"supervision": kind}) for at, kind in enumerate(kinds)]
    assert [read_scores(source)[0].method for source in sources] == [
        "ksh, gist (trained on labels)",
        "ksh, gist (trained on distances of gist (graded_distance))",
        *["ksh, gist"] * 3,
    ]
    table = compare(*sources[:2]).to_frame()
    assert table["method"].tolist() == [read_scores(source)[0].method for source in sources[:2]]
    assert read_scores(experiment("old", values, old=True))[0].method == "ksh, gist"

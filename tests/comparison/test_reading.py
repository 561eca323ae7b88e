"""Reading scores from a summary, from JSON and from an `Evaluation`; reading.yaml has what is refused in a JSON."""

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from encoded import evaluated, message_of, refuses, yaml_of

from protocol.checks import ProtocolError
from protocol.comparison import compare
from protocol.comparison.reading import read_scores, read_sources
from protocol.report.figure import ABSENT
from protocol.scores.metadata import PROTOCOL

OUTPUTS = np.random.default_rng(0).normal(size=(60, 16))
METRICS = ["mAP", "precision@r6", "precision@r6[micro]"]


def scored(ranking="hamming", name="mine", metrics=METRICS[:1]):
    labels = {"query_labels": np.arange(20) % 3, "database_labels": np.arange(40) % 3}
    evaluation = evaluated(OUTPUTS[:20], OUTPUTS[20:], **labels, binarize="sign", metrics=metrics, ranking=ranking)
    return evaluation.named(name, dataset="toy", split="own", ground_truth="labels")


def written(folder, evaluation, name, *others):
    evaluation.write_per_query(folder / f"{name}.csv")
    evaluation.write_json(folder / f"{name}.json", *others, per_query=folder / f"{name}.csv")
    return folder / f"{name}.json"


@pytest.fixture
def altered(codes):
    """Return a function that writes the JSON of an evaluation with changes; None removes a key."""

    def with_changes(changes, **more):
        path = codes("a.json", **more)
        content = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({key: value for key, value in content.items() if changes.get(key, "") is not None}))
        return path

    return with_changes


@pytest.mark.parametrize("excluded", [None, [3, 7]], ids=["all queries", "some queries"])
def test_a_json_and_its_evaluation_give_the_same_scores(tmp_path, excluded):
    evaluation = scored(metrics=METRICS)
    others = [] if excluded is None else [evaluation.without(excluded)]
    from_memory = read_scores(evaluation)
    from_file = read_scores(written(tmp_path, evaluation, "mine", *others))
    assert [s.fields["n_queries"] for s in from_file] == ["20"] * 3 + ["18"] * 3 * (excluded is not None)
    assert len({s.fields["excluded_queries"] for s in from_file}) == 1 + (excluded is not None)
    for one, other in zip(from_memory, from_file[:3], strict=True):
        shared = [(s.method, s.kind, s.mean, s.convention, s.version) for s in (one, other)]
        assert shared[0] == shared[1]
        assert None not in one.kind
        if one.metric == METRICS[-1]:
            reason = "has one value for all queries together, not one per query"
            assert (one.values, other.values) == (f"mine {reason}", f"mine.json {reason}")
        else:
            values = one.values.numbers, other.values.numbers
            np.testing.assert_allclose(*values, atol=1e-9)
            assert one.mean == pytest.approx(np.nanmean(values[0]))
            assert one.values.items == other.values.items == evaluation.ground_truth_sha256


def test_a_summary_records_every_field_and_an_old_one_only_some(experiment):
    (score,) = read_scores(experiment("a", {}, {"extension": "same", "extension_bits": 1}))  # of the plain codes
    (old,) = read_scores(experiment("b", old=True))
    assert score.fields["n_queries"] == "100"
    assert None not in score.kind
    assert (old.method, old.ranking) == ("itq, gist", "hamming")
    unknown = ["relevance", "n_queries", "n_database", "undefined", "ties"]
    assert [field for field in PROTOCOL if old.fields[field] is None] == unknown


@pytest.mark.parametrize(("changes", "suffix"), yaml_of("comparison/methods.yaml")["names"])
def test_the_name_of_a_method_says_how_it_ranks_and_what_it_learned_from(experiment, changes, suffix):
    (score,) = read_scores(experiment("a", changes))
    assert (score.method, score.ranking) == (f"itq, gist{suffix}", changes.get("ranking", "hamming"))
    with pytest.raises(ProtocolError, match=r"summary[.]csv: ranking must be asymmetric, .+ or hamming, got 'x'"):
        read_scores(experiment("b", changes | {"ranking": "x"}))


def test_a_method_is_a_row_and_equal_names_get_the_name_of_their_file(codes, experiment):
    files = [codes(f"{name}{bits}.json", name=name, n_bits=bits) for name in ("a", None) for bits in (16, 32)]
    (table,) = compare(*files).sections[0].tables
    assert table.header == ["method", "file", "16 bits", "32 bits"]
    assert table.rows == [
        ["a", "a16.json, a32.json", "0.7000", "0.7000"],
        ["None16", "None16.json", "0.7000", ABSENT],
        ["None32", "None32.json", ABSENT, "0.7000"],
    ]
    (table,) = compare(codes("b.json", name="a"), codes("c.json", name="a")).sections[0].tables
    assert [row[0] for row in table.rows] == ["a (b.json)", "a (c.json)"]
    (table,) = compare(*[experiment("x", {"n_runs": 10})] * 2).sections[0].tables
    names = [f"x/summary.csv ({k})" for k in (1, 2)]
    assert table.rows == [[f"itq, gist ({name})", name, "10", "0.50 ± 0.01"] for name in names]
    names = compare(scored(name="mine (asymmetric)"), scored("asymmetric")).to_frame()["method"]
    assert names.is_unique
    assert all("(asymmetric) (" in name for name in names)


@pytest.mark.parametrize(("changes", "message"), yaml_of("comparison/reading.yaml"))
def test_a_json_with_other_values_is_refused(altered, changes, message):
    path = altered(changes)
    assert message_of(read_scores, path) == f"{path}: {message}"


@pytest.mark.parametrize("change", [{"mean": 0.9}, {"std": 0.2}, {"n_runs": 5}], ids=["mean", "std", "n_runs"])
def test_two_rows_that_contradict_each_other_are_refused(experiment, change):
    with pytest.raises(ProtocolError, match="lines 3 and 4 have different means of one score"):
        read_scores(experiment("b", {"n_bits": 32}, {}, change))


@pytest.mark.parametrize(("content", "is_recorded", "reason"), yaml_of("comparison/methods.yaml")["per_query"])
def test_values_per_query_are_used_only_if_they_are_those_of_the_mean(altered, tmp_path, content, is_recorded, reason):
    path, table = altered({}, per_query={"mAP": [0.1, 0.2]}), tmp_path / "a.json.csv"
    if content is None:
        table.unlink()
    else:
        table.write_text(content)
    if is_recorded:
        digest = hashlib.sha256(table.read_bytes()).hexdigest()
        content = json.loads(path.read_text()) | {"per_query": {"file": table.name, "sha256": digest}}
        path.write_text(json.dumps(content))
    values = read_scores(path)[0].values
    if reason is None:
        assert values.numbers.tolist() == [0.1, 0.2]
    else:
        assert values.startswith(reason)


def test_a_mean_that_its_values_contradict_is_refused(altered, experiment):
    """Next to another table, metrics.csv may be that of a summary.csv that is not given."""
    with pytest.raises(ProtocolError, match=r"a.json: mAP is 0.7, but its values per query have the mean 0.15\. "):
        read_scores(altered({"metrics": {"mAP": 0.7}}, per_query={"mAP": [0.1, 0.2]}))
    path = experiment("x", {"values": [0.1, 0.3]})
    assert read_scores(path)[0].values.numbers.tolist() == [0.1, 0.3]
    pd.read_csv(path).assign(n_bits=32).to_csv(path, index=False)
    assert read_scores(path)[0].values == "the metrics.csv next to x/summary.csv lacks its runs"
    pd.read_csv(path).assign(n_bits=16, mean=0.5).to_csv(path, index=False)
    refuses(r"summary\.csv: mAP is 0\.5, but its values per run have the mean 0\.2", read_scores, path)
    other = path.rename(path.with_name("other.csv"))
    assert read_scores(other)[0].values == "the values per run do not have the mean in other.csv"


def test_files_of_one_name_are_called_by_the_folders_that_differ(experiment, tmp_path):
    path = experiment("names")
    folders = [shutil.copytree(path.parent, tmp_path / one / "results/names") for one in ("one", "two")]
    files = [folder / "summary.csv" for folder in folders]
    assert [*read_sources(files)] == [f"{one}/results/names/summary.csv" for one in ("one", "two")]
    assert [*read_sources([path, path])] == ["names/summary.csv (1)", "names/summary.csv (2)"]


@pytest.mark.parametrize("name", ["summary.csv", "metrics.csv", "runs.csv"])
def test_a_table_that_disagrees_with_its_checksum_is_refused(experiment, name):
    """Tables from other people may have no checksum; if there is one, it must agree."""
    path = experiment("a", {"values": [0.1, 0.3]})
    assert read_scores(path)[0].values.numbers.tolist() == [0.1, 0.3]
    path.with_name(f"{name}.sha256").write_text(f"{'0' * 64}  {name}\n")
    refuses(f"{name}: changed since it was written: ", read_scores, path)

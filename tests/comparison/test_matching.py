"""The scores of one table have known and equal protocols, or printed assumptions. The cases are in matching.yaml."""

import numpy as np
import pytest
from encoded import message_of, refuses, yaml_of
from hypothesis import given
from hypothesis import strategies as st
from page_blocks import DOCS, blocks

from protocol import evaluate
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.comparison import compare
from protocol.comparison.matching import assumptions, match
from protocol.comparison.reading import Score
from protocol.scores.metadata import PROTOCOL

CASES = yaml_of("comparison/matching.yaml")


@pytest.fixture
def files(experiment, codes):
    """Return a function that writes the files of a case."""

    def written(case):
        files = []
        for name, rows in case.pop("files").items():
            if name.endswith(".json"):
                files.append(codes(name, **rows))
            else:
                files.append(experiment(name, old=True) if rows == "old" else experiment(name, *rows))
        return files

    return written


@pytest.mark.parametrize(("change", "reason"), CASES["different"])
@pytest.mark.parametrize("assume", [[], [f"{field}=x" for field in PROTOCOL]], ids=["nothing assumed", "all assumed"])
def test_a_recorded_difference_is_refused_under_any_assumption(experiment, change, reason, assume):
    with pytest.raises(ProtocolError, match=r"^nothing to compare: ") as refused:
        compare(experiment("a"), experiment("b", change), assume=assume)
    assert reason in str(refused.value)


@pytest.mark.parametrize("name", CASES["refused"])
def test_files_that_can_not_be_compared_are_refused_with_the_reason(files, name):
    case = dict(CASES["refused"][name])
    message = case.pop("message")
    assert message_of(compare, *files(case), **case).endswith(message)


@pytest.mark.parametrize("name", CASES["compared"])
def test_files_that_agree_are_compared_and_assumptions_are_printed(files, name):
    case = dict(CASES["compared"][name])
    tables, text = case.pop("tables"), case.pop("text", [])
    comparison = compare(*files(case), **case)
    assert [[row[1] for row in table.rows] for part in comparison.sections for table in part.tables] == tables
    assert [words for words in text if " ".join(words.split()) not in " ".join(repr(comparison).split())] == []
    assumed = set(comparison.to_frame()["assumed"])
    assert ("Assumed" in repr(comparison)) == (assumed != {""}) == ("assume" in case)
    names = [part.name for part in comparison.sections]
    assert len(set(names)) == len(names) == 1 + comparison.to_frame()["section"].nunique()


@pytest.mark.parametrize(("assumed", "message"), CASES["assumptions"])
def test_wrong_assumptions_are_refused(assumed, message):
    refuses(message, assumptions, assumed)


def test_of_several_files_the_nearest_pair_is_explained():
    codes, labels = np.eye(4, dtype=bool), {"query_labels": [0, 1, 0, 1], "database_labels": [0, 1, 0, 1]}
    with pytest.raises(ProtocolError, match="nothing to compare: a does not record dataset, ground_truth and split; b"):
        compare([evaluate(codes, codes, **labels).named(name) for name in "abc"])
    hint = r"Name them: result\.named\(METHOD, dataset=VALUE, ground_truth=VALUE, split="
    with pytest.raises(ProtocolError, match=hint):
        compare(*[evaluate(codes, codes, **labels)] * 2)
    refuses(r"^compare: source 1 must be a file or an Evaluation, got dict\.$", compare, {"a": "a.json"})


KINDS = {"split": ["standard", "improved"], "n_queries": ["90", "100"], "n_bits": [8, 16], "metric": ["mAP", "nDCG"]}
ROWS = st.fixed_dictionaries(
    {"file": st.sampled_from("abc"), "method": st.sampled_from(["itq", "lsh"])}
    | {name: st.sampled_from(values) for name, values in KINDS.items()}
)


@given(rows=st.lists(ROWS, min_size=1, max_size=12, unique_by=lambda row: tuple(row.values())))
def test_scores_are_compared_exactly_if_another_file_has_the_same_protocol(rows):
    def of_kind(row):
        return tuple(row[name] for name in KINDS)

    nothing = {"n_runs": None, "ground_truth_sha256": None, "convention": None, "version": None, "values": "none"}
    scores = []
    for row in rows:
        fields = dict.fromkeys(PROTOCOL, "x") | {name: row[name] for name in ("split", "n_queries")}
        own = {name: row[name] for name in ("file", "method", "n_bits", "metric")}
        scores.append(Score(**own, **nothing, ranking="hamming", fields=fields, mean=0.5, std=0.1))
    try:
        compared, _ = match(scores, {}, 2)
    except ProtocolError:
        compared = []
    found = [(one.file, one.method.partition(" ")[0], *of_kind(one.fields | vars(one))) for one in compared]
    expected = [
        (row["file"], row["method"], *of_kind(row))
        for row in rows
        if any(one["file"] != row["file"] and of_kind(one) == of_kind(row) for one in rows)
    ]
    assert found == expected


def test_the_checklist_shows_how_unlike_protocols_are_refused(here, capsys):
    page = list(blocks((DOCS / "how-to" / "checklist-for-authors-and-reviewers.md").read_text()))
    (refused,) = [block for block in page if "protocol compare" in block.text]
    namespace = {}
    for block in page[: page.index(refused)]:
        block.printed(namespace)
    capsys.readouterr()
    assert main(refused.text.split()[1:]) == 2
    assert refused.shows(capsys.readouterr().err)

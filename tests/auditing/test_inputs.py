"""What an audit reads about the items of a split: each file or array has its result, or an error of one line."""

from pathlib import Path

import numpy as np
import pytest
from audited import audit as audited
from encoded import message_of, yaml_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.auditing import audit
from protocol.auditing.checks.training_log import read_logs
from protocol.auditing.evidence import features_from, groups_from
from protocol.auditing.items import Dataset
from protocol.auditing.known_pairs import known_pairs_for
from protocol.checks import ProtocolError
from protocol.evaluation.exclusion import excluded_rows

N = 10
Y = np.arange(N) % 5
IDS = np.array([f"i{row}.png" for row in range(N)])
DATASETS = {
    "rows": Dataset(),
    "labels": Dataset(n_items=N, y=Y),
    "ids": Dataset(ids=IDS),
    "known ids": Dataset(n_items=N, ids=IDS),
    "formulas": Dataset(ids=np.array(["=a", "-b"])),
    "CIFAR-10 ids": Dataset(ids=np.array(["data_batch_1/00005"])),
    "cifar10": Dataset(n_items=60_000, name="cifar10"),
}


def groups(values, dataset):
    found = groups_from(values, dataset, N)
    return [found.names[code] if code >= 0 else None for code in found.codes], found.source


def known_pairs(values, dataset):
    known = known_pairs_for(values, dataset, N)
    return known.pairs[(known.pairs >= 0).all(axis=1)].tolist(), known.source


def features(values, dataset):
    return features_from(values, dataset, N).tolist(), ""


def training_log(values, dataset):
    pattern = None if str(values).endswith((".csv", "l", ".txt")) else "mAP (?P<value>.*)"
    return read_logs(values, pattern), values


READERS = {read.__name__: read for read in (groups, known_pairs, features, training_log)}
CASES = yaml_of("auditing/inputs.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['option']}-{case.get('error', 'read')[:50]}")
def test_an_input_is_read_or_refused_in_one_line(here, case):
    values, name = case.get("file", case.get("value")), case.get("file", case.get("name", case["option"]))
    if "file" in case:
        Path(values).write_bytes(case["text"].encode())
    read = READERS[case["option"]]
    dataset = Dataset(ids=np.array(case["ids"])) if "ids" in case else DATASETS[case.get("data", "rows")]
    if "error" in case:
        message = message_of(read, values, dataset)
        assert message.replace(", line ", ": line ", 1).startswith(f"{name}: {case['error']}")
    else:
        result, source = read(values, dataset)
        assert result == case["result"]
        assert case.get("source", "") in source


PIECES = ["1", "2", ",", "\n", "a", '"', "-", "9" * 30, "", "{", "map", "0.7", "nan", "query,database,judgement\n"]


ODD_TEXT = st.lists(st.sampled_from(PIECES), max_size=30).map(lambda pieces: "".join(pieces).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=60), ODD_TEXT))
def test_any_table_is_read_or_refused_in_one_line(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    messages = []
    for read in (known_pairs, groups, training_log, lambda path, _: excluded_rows(path, 5)):
        for dataset in (Dataset(), Dataset(ids=np.array(["1", "a"]))):
            try:
                read(tmp_path / "a.csv", dataset)
            except ProtocolError as error:
                messages.append(str(error))
    assert not any("\n" in message for message in messages)


@pytest.mark.parametrize(
    ("listed", "options"),
    [([0, 1], {}), (["c.png", "b.png"], {"features": np.eye(3)}), (["c.png", "b.png"], {"known_pairs": "pairs.csv"})],
)
def test_labels_with_ids_that_do_not_ascend_give_no_row_numbers(here, listed, options):
    Path("pairs.csv").write_text("query,database,judgement\n0,1,0\n")
    options |= {"query": listed[:1], "database": listed[1:], "labels": "y.csv"}
    Path("y.csv").write_text("id,label\nc.png,o\na.png,x\nb.png,o\n")
    with pytest.raises(ProtocolError, match=r"y.csv: its ids do not ascend.* or y.csv itself as ids"):
        audited(**options)
    audited(**options, ids="y.csv")
    Path("y.csv").write_text("id,label\na.png,x\nb.png,o\nc.png,o\n")
    audited(**options)


@pytest.mark.parametrize(("words", "forms"), yaml_of("auditing/found.yaml")["names_or_numbers"])
def test_names_of_classes_in_one_list_and_numbers_in_another_are_undetermined(here, words, forms):
    for part, classes in words.items():
        Path(f"{part}.txt").write_text("".join(f"{part}{n}.png {name}\n" for n, name in enumerate(classes.split())))
    audited = audit(**{part: f"{part}.txt" for part in words})
    found = [one.examples for of_split in audited.findings.values() for one in of_split if "labels-d" in one.name]
    assert list(map(list, found)) == [forms] * bool(forms)
    assert audited.fails("undetermined") == bool(forms)


def test_names_of_classes_in_lists_are_not_compared_with_numbers(tmp_path):
    """Their order is not known, so a conflict of labels could be neither found nor excluded."""
    for name, text in {"q": "a.png owl\nb.png fox\n", "d": "c.png owl\nd.png fox\n"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    lists = {"query": tmp_path / "q.txt", "database": tmp_path / "d.txt"}
    ids = ["a.png", "b.png", "c.png", "d.png"]
    with pytest.raises(ProtocolError, match="the lists name their classes, but the labels have numbers"):
        audit(**lists, ids=ids, labels=[0, 1, 0, 1])
    same, other = (audit(**lists, ids=ids, labels=labels).findings for labels in (["owl", "fox"] * 2, ["fox"] * 4))
    conflicts = [[one.name for one in found] for part in (same, other) for found in part.values()]
    assert ["label-conflict" in names for names in conflicts] == [False, True]

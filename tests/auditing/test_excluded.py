"""The file of the key `exclude_queries`: pairs or items, by ids or row numbers."""

import numpy as np
import pytest
from encoded import message_of, yaml_of

from protocol.auditing import Split, read_excluded
from protocol.auditing.duplicates import find_duplicates
from protocol.auditing.items import Dataset

IDS = np.array(["a", "b", "c", "d", "e", "f"])
PARTS = {"query": np.array([3, 0, 5]), "database": np.array([1, 2]), "train": np.array([4])}
PAIRS = "query,database\n{},{}\n{},{}\n{},{}\n"


def positions(tmp_path, text, ids=IDS):
    path = tmp_path / "excluded.csv"
    path.write_text(text)
    return read_excluded(path).queries(Split(PARTS, Dataset(n_items=6, ids=ids))).tolist()


@pytest.mark.parametrize("ids", [IDS, None])
def test_a_pair_excludes_a_query_whose_partner_is_in_the_database_or_the_training_set(tmp_path, ids):
    def named(*rows):
        return PAIRS.format(*(rows if ids is None else IDS[list(rows)]))

    assert positions(tmp_path, named(0, 1, 0, 2, 3, 5), ids) == [1]  # 3 and 5 are both queries
    assert positions(tmp_path, named(4, 5, 1, 2, 2, 4), ids) == [2]  # in either order; others are no queries
    assert positions(tmp_path, named(3, 4, 1, 0, 1, 2), ids) == [0, 1]


def test_only_judged_duplicates_count(tmp_path):
    text = "query,database,distance,judgement\na,b,0.1,{}\nd,c,0.1,{}\n"
    assert positions(tmp_path, text.format(0, 1)) == [0, 1]
    assert positions(tmp_path, text.format(2, 1)) == [0]
    assert positions(tmp_path, text.format("", 3)) == []


def test_listed_items_are_excluded_wherever_they_are_queries(tmp_path):
    assert positions(tmp_path, "id\nf\nb\nd\n") == [0, 2]
    assert positions(tmp_path, "id,reason\n0,doubtful\n") == [1]
    assert read_excluded(tmp_path / "excluded.csv").about == "1 item"


def test_the_file_of_find_duplicates_is_read(tmp_path):
    rows = np.random.default_rng(0).normal(size=(6, 8))
    rows[5] = rows[2] + 0.001
    find_duplicates(rows, vectors=True, most=1).to_csv(tmp_path / "pairs.csv")
    assert read_excluded(tmp_path / "pairs.csv").about == "1 pair"
    assert positions(tmp_path, (tmp_path / "pairs.csv").read_text()) == [2]


WRONG = yaml_of("auditing/excluded.yaml")


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_refused(tmp_path, text):
    message = message_of(positions, tmp_path, text)
    assert message.startswith(f"{tmp_path}/excluded.csv")
    assert WRONG[text] in message

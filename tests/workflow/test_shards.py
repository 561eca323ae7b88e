"""Counting in shards: separate jobs with the same results as one job."""

import pytest
from project import SHORT, Results

from protocol.provenance import storage

N = 4
METRICS = ["mAP", "mAP@10[retrieved]", "nDCG", "precision@r2", "AUPRC[area]"]
ONCE = SHORT | {"features": {"pixels": {}}, "hashers": ["lsh"], "extensions": ["none", "same"], "metrics": METRICS}
TABLES = ("metrics.csv", "summary.csv", "runs.csv")


SHARDS = ONCE | {"experiment": "shards", "count_shards": N}


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """A folder in which one experiment was counted at once, and the same one in shards."""
    made = Results(tmp_path_factory.mktemp("sharded"))
    for config in (ONCE, SHARDS):
        made.stages(config, "metrics")
    return made


def results(project, name):
    return project.folder / "results" / name


def test_shards_do_not_change_the_tables(sharded):
    for table in TABLES:
        expected = (results(sharded, "small") / table).read_bytes()
        assert (results(sharded, "shards") / table).read_bytes() == expected


def test_the_counts_add_up_to_those_of_one_job(sharded):
    (once,), (total,) = (list(results(sharded, name).glob("pixels/counts/lsh.h5")) for name in ("small", "shards"))
    expected, found = storage.read(once), storage.read(total)
    left_out = {name for name in expected if name.rpartition("/")[2] in ("bucket_sizes", "largest_bucket")}
    assert left_out
    assert set(found) == set(expected) - left_out
    for name, array in found.items():
        assert array.dtype == expected[name].dtype
        assert array.tolist() == expected[name].tolist()
    assert len(list(total.parents[1].glob(f"*/run0/lsh/shards/*-of-{N}.h5"))) == N

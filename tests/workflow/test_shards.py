"""Counting in shards: separate jobs with the same results as one job."""

from project import SHORT, Results

N = 4
METRICS = ["mAP", "mAP@10[retrieved]", "nDCG", "precision@r2", "AUPRC[area]"]
ONCE = SHORT | {"features": {"pixels": {}}, "hashers": ["lsh"], "extensions": ["none", "same"], "metrics": METRICS}
TABLES = ("metrics.csv", "summary.csv", "runs.csv")


SHARDS = ONCE | {"experiment": "shards", "count_shards": N}


def test_shards_do_not_change_the_tables(tmp_path):
    """One experiment is counted at once, and in shards in the same folder."""
    made = Results(tmp_path)
    for config in (ONCE, SHARDS):
        made.stages(config, "metrics")
    once, shards = (tmp_path / "results" / config["experiment"] for config in (ONCE, SHARDS))
    for table in TABLES:
        assert (shards / table).read_bytes() == (once / table).read_bytes()
    assert len(list(shards.glob(f"pixels/*/run0/lsh/shards/*-of-{N}.h5"))) == N

import pytest

from protocol.hashers import checkpoints


def job(output, *, killed):
    """Leave a checkpoint for two lengths, and say what was there before."""
    with checkpoints(output) as checkpoint:
        before = [path.read_bytes() if path.exists() else None for path in map(checkpoint, (8, 16))]
        for n_bits in (8, 16):
            checkpoint(n_bits).write_bytes(b"%d bits" % n_bits)
        if killed:
            raise KeyboardInterrupt
    return before


def test_checkpoints_outlive_a_job_that_is_killed_and_no_other(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        job(tmp_path / "models.h5", killed=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.h5.16.checkpoint", "models.h5.8.checkpoint"]
    assert job(tmp_path / "models.h5", killed=False) == [b"8 bits", b"16 bits"]
    assert not list(tmp_path.iterdir())
    assert job(tmp_path / "models.h5", killed=False) == [None, None]

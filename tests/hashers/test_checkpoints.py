import pytest

from protocol.hashers import checkpoints


def test_checkpoints_outlive_a_job_that_fails_and_no_other(tmp_path):
    output = tmp_path / "models.h5"
    with pytest.raises(KeyboardInterrupt), checkpoints(output) as checkpoint:
        checkpoint(8).write_bytes(b"8 bits")
        checkpoint(16).write_bytes(b"16 bits")
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models.h5.16.checkpoint", "models.h5.8.checkpoint"]
    with checkpoints(output) as checkpoint:
        assert checkpoint(8).read_bytes() == b"8 bits"
        assert checkpoint(16).exists()
        assert not checkpoint(32).exists()
    assert not list(tmp_path.iterdir())

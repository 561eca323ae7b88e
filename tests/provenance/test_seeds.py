import hashlib

from protocol.provenance import derive


def test_the_hash_is_the_stated_one():
    expected = int(hashlib.sha256(b'[0, "digits", "itq", 32, 3]').hexdigest()[:8], 16)
    assert derive(0, "digits", "itq", 32, 3) == expected


def test_order_and_type_count():
    assert len({derive(1, 2), derive(2, 1), derive("1", 2), derive(12), derive(1, 2, 0)}) == 5

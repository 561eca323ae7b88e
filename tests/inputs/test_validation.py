"""Checks of arrays in memory, and of what users pass in place of arrays."""

import numpy as np
import pytest
from encoded import message_of, refusals

from protocol.inputs import arrays, validation
from protocol.inputs.arrays import items_from, matrix_from, numbers_from


@pytest.mark.parametrize(("change", "message"), refusals("inputs/refusals.yaml"))
def test_refusals(change, message):
    name, values = change.pop("check"), change.pop("values")
    check = getattr(validation, name, None) or (lambda values: getattr(arrays, name)(values, "query"))
    assert message_of(lambda: check(values, **change)) == message


def test_items_are_row_numbers_or_ids_from_any_library(tmp_path):
    torch, pd = pytest.importorskip("torch"), pytest.importorskip("pandas")
    for numbers in ([4.0, 2.0], (4, 2), np.array([4, 2], np.uint8), torch.tensor([4, 2]), pd.Series([4, 2])):
        assert items_from(numbers, "query").tolist() == [4, 2]
        assert items_from(numbers, "query").dtype == np.int64
    for ids in (["a", "bb"], [b"a", "bb"], np.array(["a", "bb"]), pd.Series(["a", "bb"]), pd.Index(["a", "bb"])):
        assert items_from(ids, "query").tolist() == ["a", "bb"]
    assert items_from([], "query").size == 0
    assert matrix_from(torch.ones(2, 3, requires_grad=True), "query").dtype == np.float32
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    assert isinstance(numbers_from(tmp_path / "x.npy", "query").base, np.memmap)

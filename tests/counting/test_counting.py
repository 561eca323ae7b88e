import sys
from types import SimpleNamespace

import pytest
from encoded import message_of, refusals

from protocol import codes
from protocol.counting import asymmetric_counts, count, counting
from protocol.counting._compiled import BitPlanes
from protocol.counting._plain import Plain, Shell
from protocol.truth.relevance import LabelRelevance

QUERY = codes.pack([[0, 0, 0], [1, 1, 1]])
DATABASE = codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]])
LABELS = LabelRelevance([5, 6], [5, 5, 6, 6, 7])


@pytest.mark.parametrize(("change", "message"), refusals("counting/refused_codes.yaml"))
def test_refusals(change, message):
    inputs = {"database_codes": DATABASE, "n_bits": 3} | change

    def counted():
        if "query_outputs" in inputs:
            list(asymmetric_counts(**inputs, relevance=LABELS))
        else:
            count(QUERY, **inputs, relevances={"t": LABELS})

    assert message_of(counted) == message


def test_only_requested_arrays_are_computed():
    plain = count(QUERY, DATABASE, 3, {"t": LABELS}, buckets=False)["t"]
    assert plain.largest_bucket is None
    assert (plain.index_precisions, plain.index_top, plain.index_discounts) == (None, None, None)
    ordered = count(QUERY, DATABASE, 3, {"t": LABELS}, index_order=True)["t"]
    assert ordered.index_precisions is not None


def test_compiled_code_is_loaded_once_it_would_have_saved_its_start(monkeypatch):
    """A large call loads it, and so does the last of several small calls; work that NumPy does faster never does."""
    monkeypatch.delitem(sys.modules, "protocol.counting._kernels", raising=False)

    def chosen(*pairs, n_bits=64):
        monkeypatch.setattr(counting, "_missed", SimpleNamespace(seconds=0.0))
        return [counting._choose(of_call, n_bits, {}, False) for of_call in pairs]

    assert chosen(10**9) == [BitPlanes]
    assert chosen(1000) == [Plain]
    small = chosen(*[59 * 10**6] * 7)  # 0.11 s each, and 0.6 s to load
    assert small == [Plain] * 5 + [BitPlanes] * 2
    assert chosen(*[10**9] * 9, n_bits=8) == [Shell] * 9

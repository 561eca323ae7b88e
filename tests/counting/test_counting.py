import sys
from types import SimpleNamespace

import numpy as np
import pytest
from encoded import refuses

from protocol import codes
from protocol.counting import count, counting
from protocol.counting._compiled import BitPlanes
from protocol.counting._plain import Plain
from protocol.counting._shell import Shell
from protocol.truth.relevance import LabelRelevance

QUERY = codes.pack([[0, 0, 0], [1, 1, 1]])
DATABASE = codes.pack([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]])
LABELS = LabelRelevance([5, 6], [5, 5, 6, 6, 7])


@pytest.mark.parametrize(
    ("query", "database", "n_bits", "truth", "message"),
    [
        (QUERY, DATABASE[:0], 3, LABELS, "database codes: there are no codes"),
        (QUERY, DATABASE, 9, LABELS, r"query codes: expected uint8 \(n, 2\) for codes of 9 bits"),
        (QUERY, DATABASE.astype(np.int64), 3, LABELS, "database codes: expected uint8 .* for codes of 3 bits"),
        (QUERY, DATABASE, 2, LABELS, "query codes: expected zeros after bit 2"),
        (QUERY, DATABASE[:4], 3, LABELS, "relevance 't' is of 2 queries and 5 database items, but the codes are of 2"),
    ],
)
def test_refusals(query, database, n_bits, truth, message):
    refuses(message, count, query, database, n_bits, {"t": truth})


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

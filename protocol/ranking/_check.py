"""Checks of what is ranked, shared by counting and bucket search."""

import numpy as np
from numpy.typing import NDArray

from protocol import codes
from protocol.checks import ProtocolError
from protocol.ranking.relevance import Relevance


def check_codes(query_codes: NDArray[np.uint8], database_codes: NDArray[np.uint8], n_bits: int) -> None:
    """Raise ProtocolError unless both are packed codes of `n_bits` bits, at least one of each."""
    codes.check(query_codes, n_bits, "query codes")
    codes.check(database_codes, n_bits, "database codes")
    came = (len(query_codes), len(database_codes))
    if 0 in came:
        raise ProtocolError(f"counting: wanted queries and a database, came {came[0]} queries and {came[1]} items")


def check_relevance(relevance: Relevance, n_queries: int, n_database: int, name: str) -> None:
    """Raise ProtocolError unless a ground truth is about as many queries and items as there are codes."""
    came = (relevance.n_queries, relevance.n_database)
    if came != (n_queries, n_database):
        raise ProtocolError(
            f"relevance {name!r}: wanted {n_queries} queries and {n_database} database items as there are codes, "
            f"came {came[0]} and {came[1]}"
        )

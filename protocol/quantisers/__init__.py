"""Quantisers, which compress vectors of real numbers; one file for each quantiser."""

from protocol.quantisers._quantiser import COMPARED, Quantiser, Ranking

__all__ = ["COMPARED", "Quantiser", "Ranking"]

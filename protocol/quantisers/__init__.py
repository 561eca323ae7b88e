"""Quantisers, which compress vectors of real numbers; one file for each quantiser."""

from protocol.quantisers._quantiser import Quantiser, Ranking

__all__ = ["Quantiser", "Ranking"]

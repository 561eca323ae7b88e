"""What public evaluators do differently, and which of it explains a reported score."""

from protocol.evaluators.search import Explanation, explain
from protocol.evaluators.ways import VARIANTS, Variant, Way

__all__ = ["VARIANTS", "Explanation", "Variant", "Way", "explain"]

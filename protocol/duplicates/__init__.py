"""Find near-duplicates among images or vectors: candidates, their verification, and a contact sheet to judge them."""

from protocol.duplicates.finder import find_duplicate_vectors, find_duplicates
from protocol.duplicates.inputs import image_files
from protocol.duplicates.proposals import Pairs, Proposals
from protocol.duplicates.sheet import contact_sheet

__all__ = ["Pairs", "Proposals", "contact_sheet", "find_duplicate_vectors", "find_duplicates", "image_files"]

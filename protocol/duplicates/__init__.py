"""Find near-duplicates among images or vectors: candidates, their verification, and a contact sheet to judge them."""

from protocol.duplicates.finder import contact_sheet, find_duplicates, image_files
from protocol.duplicates.proposals import Pairs, Proposals

__all__ = ["Pairs", "Proposals", "contact_sheet", "find_duplicates", "image_files"]

"""The papers: their claims, checked by tests or by results; and their figures and tables, drawn from our results."""

from protocol.papers.claims import STATUSES, all_claims, all_tables, printed
from protocol.papers.comparisons import Results
from protocol.papers.ledger import FIELDS, entry_text, ledger, ledger_text, matching, scores_of_methods, write_ledger

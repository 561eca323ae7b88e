"""Results that anyone can check: records of scores, and the tables of experiments, recomputed from the codes."""

from protocol.verification.records import files_of, verify
from protocol.verification.tables import Check, Verification

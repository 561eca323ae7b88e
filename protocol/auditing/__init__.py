"""Audit splits, what was fitted on them, and training logs; `audit` is the public function.

`items`, `evidence` and `runs` read splits and what is known about their items, and `checks` makes the findings.
`experiment` audits the files of the pipeline, `duplicates` proposes near-duplicates; `leak_study` is the leak study.
"""

from protocol.auditing.evidence import Evidence
from protocol.auditing.findings import KIND_OF, Finding, errors_in, write_findings
from protocol.auditing.items import Split
from protocol.auditing.known_pairs import SHIPPED, known_pairs_for, known_pairs_sha256, read_excluded
from protocol.auditing.public import Audit, audit
from protocol.auditing.runs import read_dataset

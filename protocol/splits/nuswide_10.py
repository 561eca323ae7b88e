"""NUS-WIDE with its 10 most frequent concepts, for cross-modal retrieval: drawn for each concept, none twice.

Other papers take 2,100 queries and 10,500 training images instead (`nuswide_10_2100`). No public code that has 2,000
queries and 10,500 training images is known.
"""

from protocol.registry import SplitRecord
from protocol.splits._protocol import Drawn, Rest, SplitProtocol

NUSWIDE_10 = SplitRecord(
    "nuswide_10",
    module=__name__,
    source="Su et al. 2019, Deep Joint-Semantics Reconstructing Hashing, and the authors' code (DJSRH, datasets.py); "
    "the same in the code of Liu et al. 2020, Joint-modal Distribution-based Similarity Hashing (JDSH, datasets.py)",
    summary="NUS-WIDE, 10 concepts: 200 queries and 500 training images of each; 184,577 images in the database",
)(
    SplitProtocol(
        {"query": Drawn(per_class=200), "train": Drawn(per_class=500), "database": Rest()},
        may_overlap={"database": ("train",)},
        n_items=186_577,
        n_classes=10,
    )
)

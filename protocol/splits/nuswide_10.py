"""NUS-WIDE with its 10 most frequent concepts, for cross-modal retrieval, in two sizes.

`nuswide_10` draws for each concept, none twice. `nuswide_10_2100` draws as many items as for 21 concepts; DCHN
itself takes the first 2,100 items of a file that is not part of this package as queries, and the next 10,500 as the
training set. No public code that has 2,000 queries and 10,500 training images is known.
"""

from protocol.splits._protocol import Drawn, Rest, declare

NUSWIDE_10 = declare(
    __name__,
    source="Su et al. 2019, Deep Joint-Semantics Reconstructing Hashing, and the authors' code (DJSRH, datasets.py); "
    "the same in the code of Liu et al. 2020, Joint-modal Distribution-based Similarity Hashing (JDSH, datasets.py)",
    summary="NUS-WIDE, 10 concepts: 200 queries and 500 training images of each; 184,577 images in the database",
    partitions={"query": Drawn(per_class=200), "train": Drawn(per_class=500), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=186_577,
    n_classes=10,
)

NUSWIDE_10_2100 = declare(
    __name__,
    name="nuswide_10_2100",
    source="the code of Hu et al. 2021, Joint Versus Independent Multiview Hashing for Cross-View Retrieval (DCHN, "
    "data_loader.py); UCCH has the same queries, but trains on the whole database (cmdataset.py)",
    summary="NUS-WIDE, 10 concepts: 2,100 queries; 184,477 images in the database, including 10,500 for training; "
    "drawn at random",
    base=NUSWIDE_10,
    partitions={"query": Drawn(size=2_100), "train": Drawn(size=10_500), "database": Rest()},
)

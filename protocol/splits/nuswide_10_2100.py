"""NUS-WIDE with its 10 most frequent concepts, and as many queries and training images as for 21 concepts.

The partitions are drawn at random. DCHN itself takes the first 2,100 items of a file as queries and the next 10,500 as
the training set; that file is not part of this package.
"""

import dataclasses

from protocol.registry import SplitRecord
from protocol.splits._protocol import Drawn, Rest
from protocol.splits.nuswide_10 import NUSWIDE_10

NUSWIDE_10_2100 = SplitRecord(
    "nuswide_10_2100",
    module=__name__,
    source="the code of Hu et al. 2021, Joint Versus Independent Multiview Hashing for Cross-View Retrieval (DCHN, "
    "data_loader.py); UCCH has the same queries, but trains on the whole database (cmdataset.py)",
    summary="NUS-WIDE, 10 concepts: 2,100 queries; 184,477 images in the database, including 10,500 for training; "
    "drawn at random",
)(
    dataclasses.replace(
        NUSWIDE_10, partitions={"query": Drawn(size=2_100), "train": Drawn(size=10_500), "database": Rest()}
    )
)

"""The literature-standard split: the database is everything but the test queries, the training set included."""

from protocol.registry import SplitRecord
from protocol.splits._protocol import DRAWN, Drawn, Rest, SplitProtocol

STANDARD = SplitRecord(
    "standard",
    source="Moran 2016, thesis section 3.5.1, figure 3.6",
    summary="Literature standard: the database is all but the queries, so hashers learn from items they are ranked on",
)(
    SplitProtocol(
        {**dict.fromkeys(DRAWN, Drawn()), "database": Rest()},
        may_overlap={"database": ("validation_query", "validation_database", "train")},
        draw="thesis",
    )
)

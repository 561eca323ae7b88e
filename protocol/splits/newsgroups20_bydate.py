"""20 Newsgroups by date: the newer messages are the queries; the older ones are both training set and database."""

from protocol.registry import SplitRecord
from protocol.splits._protocol import Official, SplitProtocol

NEWSGROUPS20_BYDATE = SplitRecord(
    "newsgroups20_bydate",
    module=__name__,
    source="the version bydate of the data, http://qwone.com/~jason/20Newsgroups/",
    summary="20 Newsgroups by date: the 7,532 newer messages are the queries; the 11,314 older ones are both database "
    "and training set",
)(
    SplitProtocol(
        {"query": Official("test", 7_532), "train": Official("train", 11_314), "database": Official("train", 11_314)},
        may_overlap={"database": ("train",)},
        n_items=18_846,
        n_classes=20,
    )
)

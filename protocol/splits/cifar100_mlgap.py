"""CIFAR-100 with its official splits: the test images are the queries; all others are both training set and database.

It is declared for both levels of labels together (``dataset_options: {labels: both}``, 20 groups and 100 classes), on
which the authors of mLGAP train. Items are relevant if they share any label, so the evaluation is by group.
"""

from protocol.splits._protocol import Official, declare

CIFAR100_MLGAP = declare(
    __name__,
    source="Mean Local Group Average Precision, section 5.1",
    summary="CIFAR-100, groups and classes: the 10,000 official test images are the queries; the 50,000 others "
    "are both the database and the training set",
    partitions={"query": Official("test", 10_000), **dict.fromkeys(("train", "database"), Official("train", 50_000))},
    may_overlap={"database": ("train",)},
    n_items=60_000,
    n_classes=120,
)

"""The split of CIFAR-10 that several papers share, under names of their own."""

from protocol.splits._protocol import Drawn, Rest, SplitProtocol

TRAIN_IN_DATABASE = SplitProtocol(
    {"query": Drawn(per_class=100), "train": Drawn(per_class=500), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_items=60_000,
    n_classes=10,
)

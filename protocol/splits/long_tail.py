"""Long tail: the sampled split of `standard`, of whose training set every next class keeps a smaller share.

The largest class has as many items as in the balanced training set, the smallest one a hundredth of them by default.
Queries and database stay balanced. LTHNet trains on such sets of CIFAR-100 and ImageNet-100; its lists are not part of
this package.
"""

from protocol.splits._protocol import declare
from protocol.splits.standard import STANDARD

LONG_TAIL = declare(
    __name__,
    source="Chen et al. 2021, Long-Tail Hashing (LTHNet); sizes as in Cao et al. 2019, Learning Imbalanced Datasets "
    "with Label-Distribution-Aware Margin Loss",
    summary="Long tail: as `standard`, but the sizes of the training classes fall geometrically, by the factor "
    "`imbalance` from the first to the last",
    base=STANDARD,
    sample="",
    imbalance=100,
)

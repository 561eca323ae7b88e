"""NUS-WIDE with all 81 concepts as HashNet describes it: 5,000 queries; 10,000 training images in the database.

The partitions are drawn at random from the available images; HashNet's own lists are not part of this package. The
size of the database is not fixed, because it depends on how many of the images could still be downloaded.

Of the 269,648 images, 60,301 show none of the 81 concepts, so more than a fifth of all queries have no relevant item
(0/0). In HashNet's lists, 1,131 of the 5,000 queries and 2,185 of the 10,000 training images have no label. If such
queries are left out of the mean, mAP is up to 5000/3869 = 1.29 times as high as if they count as 0. The numbers in the
lists' file names follow another order than the official ground truth: by number, 7 % of the labels agree, although all
15,000 label vectors occur in it. Names can't be joined with it.
"""

from protocol.splits._protocol import Drawn, Rest, declare

NUSWIDE_81 = declare(
    __name__,
    source="Cao et al. 2017, HashNet: Deep Learning to Hash by Continuation, section 4.1; sizes counted in its lists",
    summary="NUS-WIDE, 81 concepts: 5,000 queries; the rest is the database, including 10,000 training images; "
    "drawn at random",
    deviations="HashNet's lists are not used. 1,131 of their 5,000 queries have no label (0/0): if these are left "
    "out of the mean, mAP is up to 1.29 times as high as if they count as 0. The file names are numbered in another "
    "order than the official ground truth, so names can't be joined with it",
    partitions={"query": Drawn(size=5_000), "train": Drawn(size=10_000), "database": Rest()},
    may_overlap={"database": ("train",)},
    n_classes=81,
)

"""Unseen classes: hashers learn from some classes, and are scored on these and on the others.

Each run draws the unseen classes. The four protocols share one sampled split, so each hasher is trained once, and its
codes have four scores, which are named after the classes of the queries and of the database. Queries and training set
are those that `standard` draws, without the training items of unseen classes.
"""

import dataclasses
from typing import Literal

from protocol.registry import SplitRecord
from protocol.splits._protocol import VALIDATION, Drawn, Rest, SplitProtocol

Classes = Literal["all", "seen", "unseen"]
SCORES: dict[str, tuple[Classes, Classes]] = {
    "seen_at_seen": ("seen", "seen"),
    "seen_at_all": ("seen", "all"),
    "unseen_at_unseen": ("unseen", "unseen"),
    "unseen_at_all": ("unseen", "all"),
}
"""The classes of the queries and of the database, by the name of the score."""
DRAWN_CLASSES = SplitProtocol(
    {
        "query": Drawn(),
        **dict.fromkeys(VALIDATION, Drawn(classes="seen")),
        "train": Drawn(classes="seen"),
        "database": Rest(),
    },
    may_overlap={"database": (*VALIDATION, "train")},
    sample="unseen",
    unseen=2,
)


def scored(protocol: SplitProtocol, score: str) -> SplitProtocol:
    """Return a protocol with the queries and the database of one of the `SCORES`."""
    parts, (queries, database) = protocol.partitions, SCORES[score]
    ranked = {
        "query": dataclasses.replace(parts["query"], classes=queries),
        "database": dataclasses.replace(parts["database"], classes=database),
    }
    may_overlap = {} if database == "unseen" else protocol.may_overlap
    return dataclasses.replace(protocol, partitions={**parts, **ranked}, may_overlap=may_overlap)


for name, (of_queries, of_database) in SCORES.items():
    SplitRecord(
        name,
        module=__name__,
        printed=name.replace("_at_", "@"),
        source="Sablayrolles, Douze, Usunier and Jégou 2017, How should we evaluate supervised hashing?; names of the "
        "scores: An Empirical Study on Training Paradigms for Deep Supervised Hashing (code: aassxun/DSH_Analysis)",
        summary=f"Unseen classes, drawn in each run: queries of {of_queries} classes, a database of {of_database} "
        "classes, which includes training items unless it is unseen",
    )(scored(DRAWN_CLASSES, name))

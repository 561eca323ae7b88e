"""Unseen classes: hashers learn from some classes, and are scored on these and on the others.

Each run draws the unseen classes. The four protocols share one sampled split, so each hasher is trained once, and its
codes have four scores, which are named after the classes of the queries and of the database. Queries and training set
are those that `standard` draws, without the training items of unseen classes.
"""

import dataclasses

from protocol.splits._protocol import VALIDATION, Classes, Drawn, Rest, SplitProtocol, declare

SCORES: dict[str, tuple[Classes, Classes]] = {
    "seen_at_seen": ("seen", "seen"),
    "seen_at_all": ("seen", "all"),
    "unseen_at_unseen": ("unseen", "unseen"),
    "unseen_at_all": ("unseen", "all"),
}
"""The classes of the queries and of the database, by the name of the score."""


def register(protocol: SplitProtocol, module: str, prefix: str = "", *, source: str, summary: str) -> None:
    """Register a protocol for each of the `SCORES`; `summary` contains ``{queries}`` and ``{database}``."""
    parts = protocol.partitions
    for name, (queries, database) in SCORES.items():
        ranked = {"query": queries, "database": database}
        changed = {part: dataclasses.replace(parts[part], classes=classes) for part, classes in ranked.items()}
        may_overlap = {} if database == "unseen" else protocol.may_overlap
        declare(
            module,
            name=f"{prefix}{name}",
            printed=name.replace("_at_", "@"),
            source=source,
            summary=summary.format(queries=queries, database=database),
            base=protocol,
            partitions={**parts, **changed},
            may_overlap=may_overlap,
        )


register(
    SplitProtocol(
        {"query": Drawn(), **dict.fromkeys((*VALIDATION, "train"), Drawn(classes="seen")), "database": Rest()},
        may_overlap={"database": (*VALIDATION, "train")},
        sample="unseen",
        unseen=2,
    ),
    __name__,
    source="Sablayrolles, Douze, Usunier and Jégou 2017, How should we evaluate supervised hashing?; names of the "
    "scores: An Empirical Study on Training Paradigms for Deep Supervised Hashing (code: aassxun/DSH_Analysis)",
    summary="Unseen classes, drawn in each run: queries of {queries} classes, a database of {database} classes, "
    "which includes the training set unless all classes are unseen",
)

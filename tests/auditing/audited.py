"""Clean splits of each protocol, constructed from its declaration, and splits with changes."""

import dataclasses
import functools
import tempfile
from pathlib import Path

import numpy as np

from protocol import registry
from protocol.auditing import Evidence, Split
from protocol.auditing import audit as audit_with
from protocol.auditing.items import Dataset
from protocol.auditing.runs import Run
from protocol.splits import DRAWN, Official, SameAs

SIZES = {"query": 50, "validation_query": 30, "validation_database": 100, "train": 200}
SEED = 3
EVIDENCE = {field.name for field in dataclasses.fields(Evidence)}


def audit(*splits, **options):
    """Call `protocol.audit` with the evidence among the options; groups may be a list, which is written."""
    given = {name: value for name, value in options.items() if name in EVIDENCE}
    rest = {name: value for name, value in options.items() if name not in EVIDENCE}
    with tempfile.TemporaryDirectory() as folder:
        groups = given.get("groups")
        if groups is not None and not isinstance(groups, str | Path):
            given["groups"] = Path(folder, "groups.csv")
            lines = "".join(f"{item},{group}\n" for item, group in enumerate(groups))
            given["groups"].write_text(f"id,group\n{lines}")
        return audit_with(*splits, evidence=Evidence(**given), **rest)


def _official(protocol, n_items):
    """Return rows for the official splits: the last ones for the database's; the others begin at the first."""
    sizes = {part.part: part.size for part in protocol.partitions.values() if isinstance(part, Official)}
    last = getattr(protocol.partitions["database"], "part", None)
    rows = {last: np.arange(n_items - sizes[last], n_items)} if last in sizes else {}
    others = [name for name in sizes if name != last]
    ends = np.cumsum([sizes[name] for name in others])
    return rows | {name: np.arange(end - sizes[name], end) for name, end in zip(others, ends, strict=True)}


@functools.cache
def dataset(name):
    protocol = registry.get("split", name)
    fixed = sum(getattr(part, "size", 0) or 0 for part in protocol.partitions.values())
    n_items, n_classes = protocol.n_items or max(2_000, 2 * fixed), protocol.n_classes or 7
    ids = np.char.add("item/", np.arange(n_items).astype(str))
    has_classes = protocol.n_classes or not protocol.n_items
    y = np.arange(n_items) % n_classes if has_classes else None
    if y is not None and not (protocol.divides_classes and protocol.n_items):  # official splits have equal classes
        y = np.random.default_rng(0).permutation(y)
    return Dataset(n_items=n_items, ids=ids, y=y, official=_official(protocol, n_items))


@functools.cache
def drawn(name, *, seed=SEED):
    """Return the partitions of one run."""
    protocol, known = registry.get("split", name), dataset(name)
    lists = {"query": np.arange(50), "train": np.arange(100, 300), "database": np.arange(50, 2_000)}
    sizes = SIZES if protocol.open else {}
    options = {"sizes": sizes, "seed": seed, "official": known.official, "lists": lists if protocol.listed else {}}
    return protocol.split(known.n_items, known.y, **options)


def clean(name, *, seed=SEED):
    """Return a run without problems, with all its known properties."""
    sizes = SIZES if registry.get("split", name).open else {}
    return Run(f"{name}-{seed}.h5", Split(drawn(name, seed=seed), dataset(name)), name, seed, sizes)


def changed(run, *, sizes=None, flags=None, known=None, **parts):
    """Return a run with other partitions, whose seed is no longer known."""
    split = Split(run.split.entries | parts, known or run.split.dataset, flags or {})
    return Run(run.file, split, run.name, None, run.sizes if sizes is None else sizes)


def inherent(name, *, n_items_known=True):
    """Return the warnings that follow from a protocol's own declaration.

    They concern partitions that are used for learning and are also ranked, and items that are in no partition.
    """
    protocol = registry.get("split", name)
    names = {"train": "train-in-database"} | dict.fromkeys(DRAWN[1:3], "validation-in-database")
    found = {(names[part], "warning") for part in names if protocol.overlaps(part, "database") and part in _in(name)}
    leaves_out = n_items_known and isinstance(protocol.partitions["database"], SameAs)
    return found | ({("unused-items", "warning")} if leaves_out else set())


def _in(name):
    return {part for part, rows in drawn(name).items() if len(rows)}


def kinds(findings):
    return {(finding.name, finding.severity) for finding in findings}

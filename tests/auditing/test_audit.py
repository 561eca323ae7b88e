"""Each kind of finding is caused by a split without other findings, and each protocol has a clean split."""

import dataclasses

import numpy as np
import pytest
from audited import SEED, SIZES, changed, clean, dataset, drawn, inherent, kinds
from encoded import yaml_of
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import registry
from protocol.auditing import KIND_OF, Split
from protocol.auditing import evidence as evidence_module
from protocol.auditing.checks import about, audit_split, audit_splits
from protocol.auditing.checks.codes import audit_relevance, audit_truth
from protocol.auditing.evidence import copies_of, first_equal
from protocol.auditing.experiment import LEARNING, audit_fit, audit_selection
from protocol.auditing.items import Dataset
from protocol.auditing.runs import Run
from protocol.provenance import storage
from protocol.splits import PARTITIONS

# Of each form one: drawn by class, with one label and with several, or by size; official; the same as another; lists.
PROTOCOLS = ["cifar10_s1", "cifar10_5k", "cifar10_s2", "imagenet100", "labelme_2k", "nuswide_10"]
PROTOCOLS += ["standard", "improved", "from_lists", "seen_at_seen", "unseen_at_unseen", "unseen_at_all", "long_tail"]


# Clean splits


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_clean_split_has_only_the_warnings_inherent_in_its_protocol(name):
    runs = [clean(name, seed=seed) for seed in (SEED, SEED + 1, SEED + 2)]
    copies = {"equal features": np.arange(runs[0].split.dataset.n_items)}
    findings = audit_splits([dataclasses.replace(run, copies=copies) for run in runs])
    for run in runs:
        assert kinds(findings[run.file]) == inherent(name)
        assert audit_relevance(run.split) == []
    unknown = changed(runs[0], known=Dataset())  # without labels, ids and number of items
    assert kinds(audit_split(unknown)) == inherent(name, n_items_known=False)


# A split for each finding: lists with the sizes and classes of a clean improved split, except for one fault.

PARTS, LISTED = drawn("improved"), dataclasses.replace(dataset("improved"), n_items=None)
Y = LISTED.y
IMPROVED, STANDARD, LISTS = (changed(clean(name), known=LISTED) for name in ("improved", "standard", "from_lists"))
UNSEEN = changed(clean("unseen_at_unseen"))
QUERY, TRAIN = PARTS["query"], PARTS["train"]


def swapped(part, items):
    """Return a partition in which some items are replaced by others of the same classes."""
    own = PARTS[part].copy()
    for item in items:
        own[np.flatnonzero((Y[own] == Y[item]) & ~np.isin(own, items))[0]] = item
    return {part: own}


def with_counts(part, counts):
    """Return a partition with the given number of items of each class, supplemented from the database."""
    pool = np.concatenate([PARTS[part], PARTS["database"]])
    own = np.concatenate([pool[Y[pool] == label][:count] for label, count in enumerate(counts)])
    return {part: own, "database": np.setdiff1d(PARTS["database"], own)}


def flags(run, part, row):
    """Return the labels of all lists, with those of one line shifted by a class."""
    found = {name: Y[rows][:, None] == np.arange(7) for name, rows in run.split.entries.items()}
    found[part][row] = np.roll(found[part][row], 1)
    return found


FAULTS = {
    "query-in-database": ("error", changed(IMPROVED, **swapped("database", QUERY[:4])), 4),
    "query-in-train": ("error", changed(IMPROVED, **swapped("train", QUERY[:4])), 4),
    "validation-in-test": ("error", changed(IMPROVED, **swapped("validation_query", QUERY[:4])), 4),
    "validation-overlap": ("error", changed(IMPROVED, **swapped("train", PARTS["validation_query"][:4])), 4),
    "train-in-database": ("error", changed(IMPROVED, **swapped("database", TRAIN[:4])), 4),
    "validation-in-database": ("error", changed(IMPROVED, **swapped("database", PARTS["validation_query"][:4])), 4),
    "train-not-in-database": (
        "error",
        changed(STANDARD, database=np.setdiff1d(STANDARD.split["database"], TRAIN[:4])),
        4,
    ),
    "duplicate-id": ("error", changed(IMPROVED, train=np.append(TRAIN, TRAIN[:3])), 3),
    "label-conflict": ("error", changed(IMPROVED, flags=flags(IMPROVED, "train", 5)), 1),
    "size-mismatch": ("error", changed(IMPROVED, sizes={**SIZES, "train": 201}), 1),
    "class-imbalance": ("error", changed(IMPROVED, **with_counts("train", [20, 30, 30, 30, 30, 30, 30])), 1),
    "class-missing": ("error", changed(IMPROVED, **with_counts("validation_query", [5, 5, 5, 5, 5, 5, 0])), 1),
    "unseen-class": (
        "error",
        changed(
            UNSEEN,
            train=np.append(UNSEEN.split["train"], UNSEEN.split["database"][:3]),
            database=UNSEEN.split["database"][3:],
        ),
        3,
    ),
    "unused-items": ("warning", changed(LISTS, database=np.arange(55, 2_000), known=dataset("from_lists")), 5),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_causes_only_its_own_finding(name):
    severity, run, count = FAULTS[name]
    other_findings = {one for one in inherent(run.name) if one[0] != name}
    findings = [one for one in audit_split(run) if (one.name, one.severity) not in other_findings]
    assert [(one.name, one.severity, one.count) for one in findings] == [(name, severity, count)]
    assert findings[0].treatment == KIND_OF[name].treatment
    assert all(example for example in findings[0].examples)


OUTSIDE = {"query": np.arange(5), "train": np.arange(5, 10), "database": np.arange(10, 20)}


@pytest.mark.parametrize(("start", "protocol", "expected"), yaml_of("auditing/found.yaml")["outside"])
def test_a_training_set_outside_the_database_is_allowed_if_nothing_is_declared(start, protocol, expected):
    parts = OUTSIDE | {"database": np.arange(start, 20)}
    assert kinds(audit_split(Run("x", Split(parts, Dataset()), protocol))) == set(map(tuple, expected))


# Classes


@pytest.mark.parametrize("name", ["standard_natural", "improved_natural"])
def test_natural_splits_need_not_have_every_class_equally_often(name):
    y, sizes = np.repeat(np.arange(4), [700, 250, 45, 5]), {"query": 100, "train": 200}
    parts = registry.get("split", name).split(1000, y, sizes=sizes, seed=0)
    found = audit_split(Run("x", Split(parts, Dataset(n_items=1000, y=y)), name, 0, sizes))
    assert {(one.name, one.severity) for one in found} <= {
        ("train-in-database", "warning"),
        ("class-missing", "warning"),
    }


def test_a_class_that_the_dataset_has_no_more_items_of_is_a_warning():
    y = np.array([0] * 3 + [1] * 50 + [2] * 50)
    sizes = dict.fromkeys(SIZES, 20)
    parts = registry.get("split", "improved").split(103, y, sizes=sizes, seed=0)
    run = Run("x", Split(parts, Dataset(n_items=103, y=y)), "improved", 0, sizes)
    found = [one for one in audit_split(run) if one.name.startswith("class-")]
    assert {one.severity for one in found} == {"warning"}
    examples = {example for one in found for example in one.examples}
    assert examples == {"class 0: 3 (expected at least 8)", "class 0 (query 3)"}
    consequence = "because the dataset has no more of them, so hashers are not trained on them."
    assert any(consequence in one.consequence for one in found)


@pytest.mark.parametrize("part", ["train", "validation_query", "validation_database"])
@pytest.mark.parametrize("name", ["seen_at_seen", "seen_at_all", "unseen_at_unseen", "unseen_at_all"])
def test_learning_from_an_unseen_class_is_an_error_with_the_seed_and_without(name, part):
    """The seed determines the unseen classes; of lists, the queries do, or else the classes without training items."""
    run, known = clean(name), dataset(name)
    unseen = set(range(7)) - set(known.y[run.split["train"]].tolist())
    rows, query = run.split.dataset.y.argsort(), run.split["query"]
    item = next(row for row in rows if known.y[row] in unseen and row not in query)
    for seed in (run.seed, None):
        wrong = dataclasses.replace(changed(run, **{part: np.append(run.split[part], item)}), seed=seed)
        found = [one for one in audit_split(wrong) if one.name == "unseen-class"]
        (of_part,) = [one for one in found if f"The {part}" in one.consequence] or [None]
        inferred = name.startswith("unseen") or part != "train"  # a class with training items counts as seen
        assert (of_part is not None) == (seed is not None or inferred)
        sentence = next(text for text in about(run if seed else wrong) if text.startswith("unseen classes"))
        assert ("seed" in sentence) == (seed is not None)


# Relevance


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_queries_without_relevant_items_match_a_naive_loop(n_classes, n_queries, n_database, seed):
    """Compare all forms: a split with several labels or with one, and ground truths of labels and of neighbours."""
    rng = np.random.default_rng(seed)
    several = rng.random((n_queries + n_database, n_classes)) < 0.3
    one = rng.integers(0, n_classes, n_queries + n_database)
    split = {"query": np.arange(n_queries), "database": np.arange(n_queries, len(one))}
    for y, flags in ((several, several), (one, one[:, None] == np.arange(n_classes))):
        relevant = [sum((flags[q] & flags[d]).any() for d in split["database"]) for q in split["query"]]
        expected = [str(q) for q, n in enumerate(relevant) if not n]
        truths = {
            "labels": {"query_labels": y[:n_queries], "database_labels": y[n_queries:]},
            "ball": {"indptr": np.cumsum([0, *relevant])},
        }
        findings = audit_truth(truths, np.arange(n_queries).astype(str), split="improved")
        found = [*audit_relevance(Split(split, Dataset(y=y))), *findings]
        assert [list(finding.items) for finding in found] == [expected] * 3 * bool(expected)
        texts = [f"With the ground truth {name} on the split improved" for name in truths if expected]
        assert [one.consequence.partition(", these")[0] for one in findings] == texts


# Copies


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.sampled_from(["u1", "f4", "i8"]), st.booleans())
def test_copies_match_a_naive_search_in_blocks_of_any_size(seed, n_items, dtype, in_blocks):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_items, 2, 2)).astype(dtype)
    X *= rng.choice([-1, 1], X.shape).astype(dtype) if dtype == "f4" else 1  # the two zeros are equal
    a, b = (np.unique(rng.integers(0, n_items, n_items)) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence_module, "_BLOCK_BYTES", 100 if in_blocks else 1 << 20)
        first = first_equal(X)
    assert first.tolist() == [next(j for j in range(n_items) if (X[j] == X[i]).all()) for i in range(n_items)]
    slow = [[j for j in b if i != j and (X[i] == X[j]).all()] for i in a]
    for copies, found in zip(slow, copies_of(a, b, first).tolist(), strict=True):
        assert found in (copies or [-1])


@pytest.mark.parametrize(
    ("run", "a", "b", "severity"),
    [
        (IMPROVED, "query", "train", "error"),
        (IMPROVED, "query", "database", "warning"),
        (dataclasses.replace(IMPROVED, name="from_lists"), "train", "database", "warning"),
        (STANDARD, "train", "database", None),  # only copies of queries count in partitions that may overlap
    ],
)
def test_copies_in_disjoint_partitions_are_errors_if_queries_are_trained_on(run, a, b, severity):
    first = np.arange(2_000)
    assert "near-duplicate" not in dict(kinds(audit_split(dataclasses.replace(run, copies={"alike": first}))))
    item, copy = run.split[a][1], PARTS[b][0]
    first[[item, copy]] = min(item, copy)
    findings = audit_split(dataclasses.replace(run, copies={"alike": first}))
    copies = [one for one in findings if one.name == "near-duplicate"]
    expected = [(severity, (f"item/{item}",), (f"item/{copy}",))] * (severity is not None)
    assert [(one.severity, one.items, one.partners) for one in copies] == expected
    assert all(one.consequence.startswith(f"Items of {a} have a copy in {b} (alike)") for one in copies)


# Runs and seeds


def independent(findings):
    return {file for file, made in findings.items() if any(one.name == "runs-not-independent" for one in made)}


@pytest.mark.parametrize("name", ["improved", "cifar10_s1", "cifar10_s2", "from_lists"])
def test_repeated_runs_and_wrong_seeds_are_found_if_anything_is_drawn(name):
    first, is_drawn = clean(name), bool(registry.get("split", name).random)
    again = dataclasses.replace(first, file="again.h5")
    runs = [first, again, clean(name, seed=SEED + 1)]
    assert independent(audit_splits(runs)) == ({"again.h5"} if is_drawn else set())
    made = {one.name for one in audit_split(dataclasses.replace(first, seed=SEED + 1))}
    assert made - {kind for kind, _ in inherent(name)} == ({"not-reproducible"} if is_drawn else set())


def test_shifted_draws_are_not_independent():
    """Test queries that are nearly the same in all runs; for folds of cross-validation see tests/cases."""

    def audited(queries):
        parts = [{"query": query, "database": np.setdiff1d(np.arange(2_000), query)} for query in queries]
        runs = [Run(f"{i}", Split(own, Dataset(n_items=2_000)), "standard") for i, own in enumerate(parts)]
        return audit_splits(runs)

    order = np.random.default_rng(0).permutation(2_000)
    shifted = audited([order[i : i + 200] for i in range(10)])
    random = audited([np.random.default_rng(99 + i).permutation(2_000)[:200] for i in range(10)])
    assert (independent(shifted), independent(random)) == ({"0"}, set())
    (finding,) = [one for one in shifted["0"] if one.name == "runs-not-independent"]
    assert finding.consequence.startswith("The query partitions of the runs share 8,835 items, but 900 are expected")


# What was fitted


VECTORS = {name: np.full((2, 3), i) for i, name in enumerate(PARTITIONS)}
DIGEST = {name: storage.array_digest(values) for name, values in VECTORS.items()}
READ = {name: DIGEST[name] for name in LEARNING}
ZERO = "0" * 64


def test_a_fit_on_other_data_or_labels_is_a_leak():
    labels = np.arange(2)
    record = {"maker": "preprocessing", "fitted_on": DIGEST["train"], "fitted_on_labels": storage.array_digest(labels)}
    assert audit_fit(record, VECTORS["train"].copy()) == audit_fit(record, VECTORS["train"], labels.copy()) == []
    for made in (audit_fit(record, VECTORS["train"][:1]), audit_fit(record, VECTORS["train"], labels + 1)):
        assert [(one.name, one.severity, one.count) for one in made] == [("preprocessing-leak", "error", 1)]


SELECTIONS = [(READ, [])]
SELECTIONS += [(READ | {part: ZERO}, [("selection-leak", part)]) for part in LEARNING]
SELECTIONS += [({n: d for n, d in READ.items() if n != part}, [("selection-leak", part)]) for part in LEARNING]
SELECTIONS += [(READ | {part: DIGEST[part]}, [("truth-leak", part)]) for part in ("query", "database")]
LEAK = [("truth-leak", "validation_query")]
SELECTIONS += [(READ | {"validation_query": DIGEST[part]}, LEAK) for part in ("query", "database")]


@pytest.mark.parametrize(("read", "expected"), SELECTIONS)
def test_options_are_chosen_on_learning_partitions_only(read, expected):
    made = audit_selection({"read": read}, VECTORS)
    assert [(one.name, one.severity, one.examples) for one in made] == [(n, "error", (part,)) for n, part in expected]

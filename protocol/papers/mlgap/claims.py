"""Claims of *Mean Local Group Average Precision*."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.counting import count
from protocol.papers.claim import AS_PRINTED, Difference, Evidence, Values, number_of
from protocol.papers.rankings import every_code, histograms, per_query, random_counts, value
from protocol.papers.results import Results, having
from protocol.truth.relevance import LabelRelevance

if TYPE_CHECKING:
    import pandas as pd

UNSUPERVISED = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")
"""The methods of figure 1; its DSH is density sensitive hashing."""


_EPOCHS = 750
_LENGTHS = (12, 24)
_TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
_OFFICIAL = ("cifar10_s2", "cifar100_mlgap")


def _penalties(database: NDArray[np.uint8], n_bits: int) -> NDArray[np.float64]:
    """Return the uniformity factor at each radius around every code, (2^n_bits, n_bits + 1); all items are relevant."""
    query = every_code(n_bits)
    relevance = LabelRelevance(np.zeros(len(query), int), np.zeros(len(database), int))  # precision 1 in every ball
    counts = count(query, database, n_bits, {"all": relevance})["all"]
    return _terms([(r + 1) * per_query(counts, f"mLGAP@r{r}") for r in range(n_bits + 1)])


def _terms(sums: Any) -> NDArray[np.float64]:
    """Return the contribution of each radius to sums over the radii 0, 1, ..., (n_queries, n_radii)."""
    return np.diff(sums, axis=0, prepend=0).T


def worked_example() -> Values:
    """Score the counts of the example by mLGAP, precision and lookups; phi at a radius is the term of mLGAP over P."""
    counts = histograms([1, 5, 4, 0, 0], [1, 3, 1, 0, 0], largest_bucket=[[1, 2, 2, 2, 2]])
    precision = [value(counts, f"precision@r{r}") for r in range(3)]
    terms = _terms([(r + 1) * per_query(counts, f"mLGAP@r{r}") for r in range(3)])[0]
    return {
        "LGAP@2": value(counts, "mLGAP@r2"),
        "LGAP@2 as a fraction": value(counts, "mLGAP@r2"),
        "P": precision,
        "phi": list(terms / precision),
        "ball volumes": [value(counts, f"lookups@r{r}") for r in range(3)],
    }


def uniformity() -> Values:
    """Compute phi for all balls of 4 bits, with 3 items in each bucket, and with 2 items in one of them."""
    outside = wrong = 0
    all_codes = every_code(4)
    for last in (3, 2):
        database = np.repeat(all_codes, [3] * 15 + [last], axis=0)
        phi = _penalties(database, 4)
        outside += int(((phi <= 0) | (phi > 1 + 1e-12)).sum())
        holds_last = codes.hamming_distance(all_codes, all_codes[15:]) <= np.arange(5)
        alone = np.arange(5) == 0  # a ball of one code is always even
        even = ~holds_last | alone if last == 2 else np.ones_like(holds_last)
        wrong += int((np.isclose(phi, 1) != even).sum())
    return {
        "balls with phi outside (0, 1]": outside,
        "balls with phi = 1 and uneven buckets, or the reverse": wrong,
    }


def order_of_items() -> Values:
    """Count random databases in two orders: mLGAP@r3, and mAP with ties in database order."""
    moved = {"mLGAP@r3": 0, "mAP[index]": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        query, database = codes.pack(rng.random((4, 5)) < 0.5), codes.pack(rng.random((60, 5)) < 0.5)
        query_labels, labels = rng.integers(0, 2, 4), rng.integers(0, 2, 60)
        both = []
        for name in moved:
            for order in (np.arange(60), rng.permutation(60)):
                relevance = {"class": LabelRelevance(query_labels, labels[order])}
                both.append(value(count(query, database[order], 5, relevance, index_order=True)["class"], name))
            moved[name] += both[-2] != both[-1]
    return {
        "reordered databases, of 20, with a different mLGAP": moved["mLGAP@r3"],
        "reordered databases, of 20, with a different mAP": moved["mAP[index]"],
    }


def proposition_1() -> Evidence:
    """Assign a separate class to each of the 8 codes of 3 bits; then try all assignments to two to four classes."""
    used = _largest_perfect_utilisation()
    return Evidence(
        {
            AS_PRINTED: {"used": _utilisation_if_perfect(np.arange(1, 9))},
            "two classes or more, each on two codes or more (the proof's assumptions)": {"used": used},
        }
    )


def _largest_perfect_utilisation() -> float:
    """Return the largest utilisation of 3 bits at mAP 1; each class needs two of the 8 codes, so at most four fit."""
    all_codes = every_code(3)
    apart = codes.hamming_distance(all_codes, all_codes)
    owners = np.indices([5] * 8, dtype=np.uint8).reshape(8, -1)  # 0: unused; each column is one assignment
    sizes = np.stack([(owners == name).sum(axis=0) for name in range(1, 5)])
    owners = owners[:, (sizes != 1).all(axis=0) & ((sizes > 0).sum(axis=0) >= 2)]
    owners = owners[:, np.argsort(-(owners > 0).sum(axis=0), kind="stable")]
    perfect = np.ones(owners.shape[1], dtype=bool)
    for a in range(8):
        farthest, nearest = np.full(owners.shape[1], -1), np.full(owners.shape[1], 9)
        for b in range(8):
            same = owners[b] == owners[a]
            farthest = np.where(same, np.maximum(farthest, apart[a, b]), farthest)
            nearest = np.where(~same & (owners[b] > 0), np.minimum(nearest, apart[a, b]), nearest)
        perfect &= (owners[a] == 0) | (farthest < nearest)
    return _utilisation_if_perfect(owners[:, perfect.argmax()])


def _utilisation_if_perfect(owners: NDArray) -> float:
    """Return the share of codes that are assigned to a class; NaN unless mAP is 1 for any order of ties."""
    used = np.flatnonzero(owners)
    own_codes = every_code(3)[used]
    relevance = LabelRelevance(owners[used].astype(int), owners[used].astype(int))
    counts = count(own_codes, own_codes, 3, {"class": relevance})["class"]
    return used.size / 2**counts.n_bits if value(counts, "mAP[worst]") == 1 else float("nan")


def utilisation_by_classes_and_diameter() -> Values:
    """Search all sets of classes of two codes or more, with 4 bits, for the largest number of used codes."""
    used = _most_used_codes(4)
    fewer = [used[n, wide] >= used[n + 1, wide] for n, wide in used if (n + 1, wide) in used]
    wider = [used[n, wide + 1] >= used[n, wide] for n, wide in used if (n, wide + 1) in used]
    return {
        "steps to one class fewer at which the largest code utilisation does not drop": sum(fewer),
        "steps to a larger diameter at which the largest code utilisation does not drop": sum(wider),
        "codes used": {f"{n} classes, diameter {wide} or more": most for (n, wide), most in sorted(used.items())},
    }


def _most_used_codes(n_bits: int) -> dict[tuple[int, int], int]:
    """Return the largest number of used codes by the number of classes and a lower bound of their diameters.

    Sets of codes are integers with a bit for each code. Flipping the same bits of all codes keeps all distances, so
    some class contains code 0.
    """
    n_codes = 2**n_bits
    apart = codes.hamming_distance(every_code(n_bits), every_code(n_bits))
    members = np.array(list(itertools.product((False, True), repeat=n_codes)))[:, ::-1]  # row i is the set i
    farthest = np.zeros(len(members), dtype=int)
    for a, b in itertools.combinations(range(n_codes), 2):
        np.maximum(farthest, apart[a, b] * (members[:, a] & members[:, b]), out=farthest)
    classes = np.flatnonzero((farthest > 0) & (farthest < n_bits))
    nearest = np.stack([np.where(members[classes], apart[code], n_bits + 1).min(axis=1) for code in range(n_codes)])
    around = ((nearest <= farthest[classes]) << np.arange(n_codes)[:, None]).sum(axis=0)
    found: dict[tuple[int, int], int] = {}

    def add(n: int, used: int, fitting: NDArray[np.int64], narrowest: int) -> None:
        for position, index in enumerate(fitting):
            rest = fitting[position + 1 :] if n else np.arange(len(classes))
            fits = (classes[rest] & around[index] == 0) & (around[rest] & classes[index] == 0)
            narrow = min(narrowest, int(farthest[classes[index]]))
            size = used + int(members[classes[index]].sum())
            for wide in range(1, narrow + 1) if n else ():
                found[n + 1, wide] = max(size, found.get((n + 1, wide), 0))
            add(n + 1, size, rest[fits], narrow)

    add(0, 0, np.flatnonzero(members[classes, 0]), n_bits)
    return found


def orthodrome() -> Values:
    """Walk the path, and compare neighbours on it by Hamming distance."""
    path = codes.pack(np.cumsum([np.eye(4, dtype=int)[bit - 1] for bit in (2, 4, 1, 3) * 2], axis=0) % 2)
    steps = np.diag(codes.hamming_distance(path, np.roll(path, 1, axis=0)))
    return {
        "length": len(path),
        "distinct codes on the path": len(np.unique(path)),
        "bits flipped by a step": steps.tolist(),
    }


def _unsupervised(results: Results, metric: str, **columns: Any) -> dict[str, Any]:
    """Return the best row of each unsupervised method with 12 bits on CIFAR-10 GIST, if all eight methods have one.

    `columns` restrict the rows, as in `Results.frame`.
    """
    columns |= {"dataset": "cifar10", "feature": "gist", "ground_truth": "class_label", "extension": "none"}
    rows = results.frame(metric=metric, n_bits=12, hasher=UNSUPERVISED, **columns).sort_values("mean", kind="stable")
    best = {row.hasher: row for row in rows.itertuples()}
    return {hasher: best[hasher] for hasher in UNSUPERVISED} if len(best) == len(UNSUPERVISED) else {}


def accuracy_against_utilisation(results: Results) -> Evidence:
    """Compare mAP and utilisation of every two of the eight methods, on the standard split with 12 bits and GIST."""
    scores = [_unsupervised(results, name, split="standard") for name in ("mAP", "utilisation")]
    if not all(scores):
        return Evidence.as_printed({})
    both = []
    for one, other in itertools.combinations(UNSUPERVISED, 2):
        more = [Difference.of_means(rows[one], rows[other]).exceeds(0) for rows in scores]
        both.append(None if None in more else more[0] is more[1])
    values = {
        "pairs of methods where the one with the higher mAP uses more codes": number_of(both),
        "pairs": len(both),
        "pairs without a shown difference in mAP or in code utilisation": both.count(None),
        "mAP, share of codes used": {hasher: [rows[hasher].mean for rows in scores] for hasher in UNSUPERVISED},
    }
    return Evidence.as_printed(values, substitute="eight unsupervised methods on GIST for one system")


def networks(results: Results, objectives: Sequence[str]) -> "tuple[pd.DataFrame, set[str]]":
    """Return rows of networks on images, and how their training differs from the paper's.

    For each dataset and code length, the objectives were trained for the same number of epochs, on the same split.
    """
    import pandas as pd

    columns = {"feature": "pixels", "ground_truth": "class_label", "extension": "none"}
    rows = results.frame(dataset=tuple(_TITLES), n_bits=_LENGTHS, **columns)
    names = rows["hasher"].astype(str).str.extract(r"^(?P<objective>.+?)(?:_(?P<epochs>\d+))?$").fillna({"epochs": "0"})
    rows = rows.assign(objective=names["objective"], epochs=names["epochs"].astype(int))
    rows = rows.assign(official=rows["split"].isin(_OFFICIAL), title=rows["dataset"].map(_TITLES))
    rows = having(rows, objective=objectives)
    compared, differences = [rows[:0]], set[str]()
    for _, case in rows.groupby(["title", "n_bits"], sort=False):
        trainings = case.groupby(["official", "epochs", "split"])["objective"].nunique()
        if complete := [training for training, n in trainings.items() if n == len(objectives)]:
            official, epochs, split = max(complete)
            of_training = having(case, official=official, epochs=epochs, split=split)
            compared.append(of_training.drop_duplicates(["objective", "metric"]))
            if epochs != _EPOCHS:
                fewer = f"training of fewer epochs than {_EPOCHS}"
                differences.add(f"{epochs} epochs for {_EPOCHS}" if epochs else fewer)
            if not official:
                differences.add(f"the split {split} for the official one")
    return pd.concat(compared, ignore_index=True), differences


def heads_over_gist(results: Results) -> "tuple[pd.DataFrame, tuple[str, ...]]":
    """Return the utilisation of both objectives over GIST, with the ``name`` of their table."""
    columns = {"dataset": "cifar10", "feature": "gist", "split": "cifar10_s2", "ground_truth": "class_label"}
    hashers = ("deep_supervised", "buffer_zone")
    rows = results.frame(**columns, metric="utilisation", hasher=hashers, n_bits=_LENGTHS, extension="none")
    return rows.assign(name=[Path(folder).name for folder in rows["folder"]]), ()


def training() -> Values:
    """Read the constants and the defaults of the hasher `buffer_zone`."""
    hasher = registry.get("hasher", "buffer_zone")
    factor, periods = hasher.decay
    (one,), (superclass, fine) = hasher.PAPER_ZONES[1], hasher.PAPER_ZONES[2]
    by_default = hasher()
    return {
        "margin over k": by_default.margin,
        "CIFAR-10 zone over k": list(one),
        "CIFAR-100 zones over k": [*fine, *superclass],
        "epochs": by_default.epochs,
        "batch": by_default.batch_size,
        "rate": by_default.learning_rate,
        "decay": 1 - factor,
        "epochs between two decays, of 750": _EPOCHS / periods,
    }


def margin_in_bits() -> Values:
    """Find the smallest number of 12 bits in which two codes must differ for the loss of a dissimilar pair to be 0."""
    n_bits = 12
    other = np.where(np.tri(n_bits + 1, n_bits, -1) > 0, -1, 1)  # row d differs from a code of +1 in d bits
    apart = {
        "eq. 18, squared distance": ((1 - other) ** 2).sum(axis=1),
        "eq. 23, L1 distance": np.abs(1 - other).sum(axis=1),
    }
    loss = {name: np.maximum(2 * n_bits - distance, 0) for name, distance in apart.items()}
    return {f"{name}: bits apart over k": int((of_pair == 0).argmax()) / n_bits for name, of_pair in loss.items()}


def mlgap_and_ramap() -> Values:
    """Score random codes of 4 bits at all radii, under both conventions for empty balls; then a single bucket."""
    below = 0
    for seed in range(20):
        counts = random_counts(seed, 4)
        for empty in ("zero", "drop"):
            for radius in range(5):
                names = f"mLGAP@r{radius}", f"RAMAP@r{radius}"
                mlgap, ramap = (per_query(counts, name, empty=empty) for name in names)
                below += int(((mlgap < ramap - 1e-15) | (np.isnan(mlgap) != np.isnan(ramap))).sum())
    one = histograms([6, 0, 0], [2, 0, 0])
    return {
        "queries and radii with mLGAP below RAMAP": below,
        "difference if all items are in one bucket": value(one, "mLGAP@r2") - value(one, "RAMAP@r2"),
    }

"""Claims of *Mean Local Group Average Precision*."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol import codes, registry
from protocol.claims._claim import AS_PRINTED, Evidence, Paper, Values
from protocol.claims._rankings import every_code, histograms, per_query, random_counts, untied, value
from protocol.claims._results import Results
from protocol.ranking import LabelRelevance, count

PAPER = Paper("Mean Local Group Average Precision")

UNSUPERVISED = ("lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh")
"""The methods of figure 1; its DSH is density sensitive hashing."""


def _penalties(database: NDArray[np.uint8], n_bits: int) -> NDArray[np.float64]:
    """Return the uniformity factor at each radius around every code, (2^n_bits, n_bits + 1); all items are relevant."""
    query = every_code(n_bits)
    relevance = LabelRelevance(np.zeros(len(query), int), np.zeros(len(database), int))  # precision 1 in every ball
    counts = count(query, database, n_bits, {"all": relevance})["all"]
    return _terms([(r + 1) * per_query(counts, f"mLGAP@r{r}") for r in range(n_bits + 1)])


def _terms(sums: Any) -> NDArray[np.float64]:
    """Return what each radius adds to sums over the radii 0, 1, ..., (n_queries, n_radii)."""
    return np.diff(sums, axis=0, prepend=0).T


@PAPER.claim(
    "S0-01",
    place="figure 6, eq. 12-15",
    statement="Worked example with 4 bits: LGAP up to radius 2 is (1 + 4/6 * 6/10 + 5/10 * 10/22) / 3 = 0.5424.",
    expected={
        "LGAP@2": 0.5424,
        "LGAP@2 as a fraction": 179 / 330,
        "P": [1, 4 / 6, 5 / 10],
        "phi": [1, 0.6, 10 / 22],
        "ball volumes": [1, 5, 11],
    },
    within=5e-5,
    note="The formula's numerators are garbled in print. Items within radius 1 and 2: 6 and 10; fullest bucket: 2. The "
    "number of items on the query's own code is free; one is taken.",
    errata=("E0-01", "E0-07"),
)
def worked_example() -> Values:
    """Score the example's counts by mLGAP, precision and lookups; a radius' factor is mLGAP's term over P."""
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


@PAPER.claim(
    "S0-02",
    place="eq. 10",
    statement="The factor phi, items in the ball over fullest bucket times codes in the ball, is in (0, 1], and 1 just "
    "where every bucket of the ball, empty ones included, holds the same number.",
    expected={"balls with phi outside (0, 1]": 0, "balls with phi = 1 and uneven buckets, or the reverse": 0},
)
def uniformity() -> Values:
    """Look at all balls of 4 bits over 3 items in each bucket, and over 2 in one of them."""
    outside = wrong = 0
    all_codes = every_code(4)
    for last in (3, 2):
        database = np.repeat(all_codes, [3] * 15 + [last], axis=0)
        phi = _penalties(database, 4)
        outside += int(((phi <= 0) | (phi > 1 + 1e-12)).sum())
        holds_last = codes.hamming_distance(all_codes, all_codes[15:]) <= np.arange(5)
        alone = np.arange(5) == 0  # a ball of one code is even whatever it holds
        even = ~holds_last | alone if last == 2 else np.ones_like(holds_last)
        wrong += int((np.isclose(phi, 1) != even).sum())
    return {
        "balls with phi outside (0, 1]": outside,
        "balls with phi = 1 and uneven buckets, or the reverse": wrong,
    }


@PAPER.claim(
    "S0-03",
    place="sections 1 and 4",
    statement="LGAP does not depend on the order of the items within a ball; mAP does.",
    expected={"of 20 reordered databases, those with another mLGAP": 0, "those with another mAP": 20},
)
def order_of_items() -> Values:
    """Count random databases in two orders: mLGAP@r3, and mAP with ties in database order."""
    moved = {"mLGAP@r3": 0, "mAP[index]": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        query, database = codes.pack(rng.random((4, 5)) < 0.5), codes.pack(rng.random((60, 5)) < 0.5)
        of_query, of_database = rng.integers(0, 2, 4), rng.integers(0, 2, 60)
        for name in moved:
            before, after = (
                value(
                    count(
                        query,
                        database[order],
                        5,
                        {"t": LabelRelevance(of_query, of_database[order])},
                        index_order=True,
                    )["t"],
                    name,
                )
                for order in (np.arange(60), rng.permutation(60))
            )
            moved[name] += before != after
    return {
        "of 20 reordered databases, those with another mLGAP": moved["mLGAP@r3"],
        "those with another mAP": moved["mAP[index]"],
    }


@PAPER.claim(
    "S0-04",
    place="figure 2",
    statement="Ten items on one code, five of them relevant: the best order has AP 1, the worst 0.3544.",
    expected={"best": 1.0, "worst": 0.3544},
    within=5e-5,
    note="Over all orders AP is 0.6072 on average, which the paper does not give.",
)
def one_bucket_of_ten() -> Values:
    """Score the example by mAP[best] and mAP[worst]; mAP is the mean over all orders."""
    counts = histograms([10, 0], [5, 0])
    return {
        "best": value(counts, "mAP[best]"),
        "worst": value(counts, "mAP[worst]"),
        "expected over ties": value(counts, "mAP"),
    }


@PAPER.claim(
    "S0-05",
    place="sections 3.1 and 3.2, cases 2 and 3",
    statement="A relevant item before an irrelevant one, or behind it: P@2 is 0.5 in both cases, AP@2 is 1 and 0.5.",
    expected={"P@2": [0.5, 0.5], "AP@2": [1, 0.5]},
    note="Holds over the relevant items among the top 2, as eq. 4 means it; over all relevant items the values fall "
    "with every relevant item farther down.",
    errata=("E0-01",),
)
def cases_2_and_3() -> Values:
    """Score both orders, with one more relevant item in the third place."""
    rankings = [untied("+-+"), untied("-++")]
    return {
        "P@2": [value(counts, "P@2") for counts in rankings],
        "AP@2": [value(counts, "mAP@2[retrieved]") for counts in rankings],
        "over all relevant items": [value(counts, "mAP@2[all]") for counts in rankings],
    }


@PAPER.claim(
    "S0-06",
    place="proposition 1",
    statement="A perfect mAP means that at most two thirds of all codes are used.",
    expected={"used": 2 / 3},
    relation="<=",
    note="The proposition is judged as printed, without a condition. Smallest example against it: 3 bits, each of the "
    "8 codes a class of its own; every query finds its own code first, mAP is 1, and all codes are used. A data set of "
    "one class is another example. The proof adds two assumptions, with which the bound holds: there are two classes "
    "or more, and none of them with a single code. The bound is not sharp then: with 3 bits no more than half the "
    "codes can be used; an integer program found half with 4 bits (8 of 16) too, and nothing better than half with 5 "
    "(16 of 32). That classes lie farther apart than they are wide is enough for mAP 1, not necessary.",
    errata=("E0-05",),
)
def proposition_1() -> Evidence:
    """Give each of the 8 codes of 3 bits a class of its own; then try all ways to give them to two to four classes."""
    used = _largest_perfect_use()
    return Evidence(
        {
            AS_PRINTED: {"used": _use_if_perfect(np.arange(1, 9))},
            "two classes or more, each on two codes or more (the proof's assumptions)": {"used": used},
        }
    )


def _largest_perfect_use() -> float:
    """Return the largest use of 3 bits at mAP 1; each class needs two of the eight codes, so four are the most."""
    all_codes = every_code(3)
    apart = codes.hamming_distance(all_codes, all_codes)
    owners = np.indices([5] * 8, dtype=np.uint8).reshape(8, -1)  # 0: nobody's; one column is one way to share them out
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
    return _use_if_perfect(owners[:, perfect.argmax()])


def _use_if_perfect(owners: NDArray) -> float:
    """Return the share of codes that have an owner; NaN unless mAP is 1, whatever the order of ties."""
    used = np.flatnonzero(owners)
    own_codes = every_code(3)[used]
    relevance = LabelRelevance(owners[used].astype(int), owners[used].astype(int))
    counts = count(own_codes, own_codes, 3, {"class": relevance})["class"]
    return used.size / 2**counts.n_bits if value(counts, "mAP[worst]") == 1 else float("nan")


@PAPER.claim(
    "S0-07",
    place="eq. 9",
    statement="Flipping the bits 2, 4, 1, 3 of a 4-bit code twice over is a closed path of 2k = 8 single flips.",
    expected={"length": 8, "codes on it": 8, "bits flipped by a step": [1] * 8},
)
def orthodrome() -> Values:
    """Walk the path, and compare neighbours on it by Hamming distance."""
    path = codes.pack(np.cumsum([np.eye(4, dtype=int)[bit - 1] for bit in (2, 4, 1, 3) * 2], axis=0) % 2)
    steps = np.diag(codes.hamming_distance(path, np.roll(path, 1, axis=0)))
    return {"length": len(path), "codes on it": len(np.unique(path)), "bits flipped by a step": steps.tolist()}


_GIST_ONLY = "GIST; the paper names no features"
_FULL = "`snakemake --configfile workflow/config/cifar10_full.yaml -- metrics`"


def _unsupervised(results: Results, metric: str, **cell: Any) -> dict[str, float]:
    """Return each unsupervised method's largest mean with 12 bits on CIFAR-10 GIST; nothing unless all eight are there.

    `cell` narrows the rows, as in `Results.rows`.
    """
    found: dict[str, float] = {}
    for row in results.rows(
        dataset="cifar10",
        feature="gist",
        ground_truth="class_label",
        metric=metric,
        n_bits=12,
        hasher=UNSUPERVISED,
        extension="none",
        **cell,
    ):
        found[row.hasher] = max(row.mean, found.get(row.hasher, row.mean))
    return {hasher: found[hasher] for hasher in UNSUPERVISED} if set(found) == set(UNSUPERVISED) else {}


@PAPER.claim(
    "S0-08",
    place="section 1",
    statement="Unsupervised methods usually have a mAP below 0.2 with 12-bit codes on CIFAR-10.",
    expected={"median of the methods' mAP": 0.2},
    relation="<",
    data=True,
    needs=f"mAP by class labels of the eight methods of figure 1, 12 bits on CIFAR-10: {_FULL}",
    note="We read 'usually' as 'for most of the eight methods of figure 1', so the median is judged. Features of a "
    "trained network would rank higher.",
)
def twelve_bits(results: Results) -> Evidence:
    """Take each method's largest mean over runs of any split, GIST features, and the median of the eight."""
    found = _unsupervised(results, "mAP")
    values = {"median of the methods' mAP": np.median(list(found.values())), "mAP": found} if found else {}
    return Evidence.as_printed(values, substitute=_GIST_ONLY)


@PAPER.claim(
    "S0-09",
    place="section 1 and figure 1",
    statement="Codes of 12 bits by eight unsupervised methods are spread over most of the 4096 bins on CIFAR-10.",
    expected={f"{hasher}: share of the codes unused": 0.5 for hasher in UNSUPERVISED},
    relation="<",
    data=True,
    needs=f"the metric `utilisation` of all eight methods with 12 bits on CIFAR-10: {_FULL}",
    note="Figure 1 has histograms without numbers, and section 1 calls the use of the codes usually high; here high "
    "means more than half of them. The figure's features and split are not named, and its DSH (density sensitive) is "
    "not that of table 1 (deep supervised).",
    errata=("E0-06",),
)
def histograms_of_codes(results: Results) -> Evidence:
    """Subtract the utilisation of each method's codes, on the standard split with GIST, from 1."""
    found = _unsupervised(results, "utilisation", split="standard")
    values = {f"{hasher}: share of the codes unused": 1 - used for hasher, used in found.items()}
    return Evidence.as_printed(values, substitute=_GIST_ONLY)


@PAPER.claim(
    "X-03",
    place="abstract and section 1",
    statement="Pushing a system to a higher mAP inevitably leads to a poorer use of its codes.",
    expected={"pairs of methods where the one with the higher mAP uses more codes": 0},
    data=True,
    needs=f"mAP and utilisation of all eight methods of figure 1 with 12 bits on CIFAR-10: {_FULL}",
    note="Labels draw the items of a class onto few codes, as X-02 shows. But methods without labels contradict the "
    "sentence: PCAH exceeds LSH in both mAP and use.",
)
def accuracy_against_use(results: Results) -> Evidence:
    """Compare mAP and utilisation of every two of the eight methods, on the standard split with 12 bits and GIST."""
    found = {name: _unsupervised(results, name, split="standard") for name in ("mAP", "utilisation")}
    if not all(found.values()):
        return Evidence.as_printed({})
    methods = [(found["mAP"][hasher], found["utilisation"][hasher]) for hasher in UNSUPERVISED]
    pairs = list(itertools.combinations(methods, 2))
    values = {
        "pairs of methods where the one with the higher mAP uses more codes": sum(
            (a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in pairs
        ),
        "pairs": len(pairs),
        "mAP, share of codes used": dict(zip(UNSUPERVISED, methods, strict=True)),
    }
    return Evidence.as_printed(values, substitute="eight unsupervised methods on GIST for one system")


_EPOCHS = 750
_LENGTHS, _RADII = (12, 24), (0, 1, 2)
_TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
_CELLS = tuple(f"{title}, {n_bits} bits" for title in _TITLES.values() for n_bits in _LENGTHS)
_OFFICIAL = ("cifar10_s2", "cifar100_mlgap")
_OLD, _NEW = "deep_supervised", "buffer_zone"
_MARGINS = {_NEW: "", f"{_NEW}_half": ", m = k"}
"""The networks by each reading of the new objective's margin: 2k as printed, or k, which is k/2 bits (X-07)."""

_TABLE_1_NEEDS = (
    "networks of three convolutions and two full layers (`network: conv` on `pixels`) by both objectives with 12 and "
    "24 bits, evaluated by mAP and mLGAP@r0 to r2: workflow/config/cifar10_mlgap_images.yaml and cifar100_mlgap.yaml; "
    "750 epochs of all eight take about 35 hours of one core"
)
_TRAINING = (
    "A row has a hasher's name, not its epochs. So a network counts as trained like the paper's only if it is named so "
    "by its experiment, `buffer_zone_750`, and uses the official split. Any other is a substitute; of several, the one "
    "whose name has the most epochs is judged. results/reference/learned/README.md has the training of the stored "
    "networks, and those on GIST, which are not judged here."
)


def _networks(results: Results, *objectives: str) -> tuple[dict[str, list[dict[str, float]]], str]:
    """Return means of networks on images, and what differs from the paper's training.

    The means are by data set and code length, then a mapping from metric to mean for each objective; the objectives
    were trained for as many epochs, on the same split.
    """
    trained: dict[str, dict[tuple[bool, int, str], dict[str, dict[str, float]]]] = {}
    for row in results.rows(
        dataset=tuple(_TITLES), feature="pixels", ground_truth="class_label", extension="none", n_bits=_LENGTHS
    ):
        name = re.fullmatch(r"(.+?)(?:_(\d+))?", row.hasher)
        if name and name[1] in objectives:
            training = (row.split in _OFFICIAL, int(name[2] or 0), row.split)
            by_training = trained.setdefault(f"{_TITLES[row.dataset]}, {row.n_bits} bits", {})
            by_training.setdefault(training, {}).setdefault(name[1], {}).setdefault(row.metric, row.mean)
    means, differences = {}, set()
    for cell, by_training in trained.items():
        if complete := [training for training, found in by_training.items() if set(found) == set(objectives)]:
            best = max(complete)
            means[cell] = [by_training[best][objective] for objective in objectives]
            differences |= set(_differences(*best))
    return means, ", ".join(sorted(differences))


def _differences(official: bool, epochs: int, split: str) -> Iterator[str]:
    if epochs != _EPOCHS:
        yield f"{epochs} epochs for {_EPOCHS}" if epochs else f"training of fewer epochs than {_EPOCHS}"
    if not official:
        yield f"the split {split} for the official one"


def _levels(*objectives: str) -> Callable[[Results], Evidence]:
    def levels(results: Results) -> Evidence:
        """Read mAP and mLGAP of the networks on images, at each radius that mLGAP may have."""

        def values(cell: str, radius: int, found: dict[str, float]) -> dict[str, float]:
            return {f"{cell}: mLGAP": found[f"mLGAP@r{radius}"], f"{cell}: mAP": found["mAP"]}

        return _at_each_radius(results, [(objective,) for objective in objectives], values)

    return levels


def _at_each_radius(
    results: Results, compared: Sequence[tuple[str, ...]], values: Callable[..., dict[str, float]]
) -> Evidence:
    """Return values by the radius of mLGAP and the margin; each is computed from the means of some objectives.

    `compared` has the objectives of each reading of the margin; `values` takes a data set with a code length, a radius,
    and the means of each objective.
    """
    readings: dict[str, Values] = {}
    substitutes = []
    for objectives in compared:
        means, substitute = _networks(results, *objectives)
        for r in _RADII:
            found: dict[str, float] = {}
            for cell, of_objectives in means.items():
                if all({"mAP", f"mLGAP@r{r}"} <= set(of_objective) for of_objective in of_objectives):
                    found |= values(cell, r, *of_objectives)
            if found:
                readings[f"mLGAP at radius {r}{_MARGINS.get(objectives[-1], '')}"] = found
                substitutes.append(substitute)
    return Evidence(readings, ", ".join(sorted({substitute for substitute in substitutes if substitute})))


for _id, _equation, _hashers, _printed in (
    (
        "S0-10",
        "16, the original objective of deep supervised hashing",
        (_OLD,),
        ([0.2633, 0.6012], [0.2889, 0.6407], [0.0637, 0.1514], [0.066, 0.1556]),
    ),
    (
        "S0-11",
        "20 and 25, the objectives with buffer zones",
        tuple(_MARGINS),
        ([0.2796, 0.3008], [0.3461, 0.3124], [0.1703, 0.1156], [0.331, 0.1187]),
    ),
):
    PAPER.claim(
        _id,
        place="table 1",
        statement=f"mLGAP and mAP of networks trained by eq. {_equation}.",
        expected={
            f"{_cell}: {_title}": _number
            for _cell, _row in zip(_CELLS, _printed, strict=True)
            for _title, _number in zip(("mLGAP", "mAP"), _row, strict=True)
        },
        within=0.03,
        data=True,
        needs=_TABLE_1_NEEDS,
        note="The radius of mLGAP in table 1 and the value of an empty ball, here 0, are not stated. The original "
        "objective's row fits radius 2; 0.3310 with a mAP of 0.1187 would need a precision near 1 in nearly every ball "
        "there, so either a smaller radius or empty balls counted 1. The table has one radius, but S0-10 and S0-11 are "
        f"each judged at the one that fits best. {_TRAINING}",
        errata=("E0-02", "E0-03", "E0-06", "E0-08"),
    )(_levels(*_hashers))


@PAPER.claim(
    "S0-12",
    place="table 1",
    statement="The new objective lowers mAP and raises mLGAP, on both data sets and with both code lengths.",
    expected={f"{cell}: {change}": 0 for cell in _CELLS for change in ("mAP, new minus old", "mLGAP, old minus new")},
    relation="<",
    data=True,
    needs=_TABLE_1_NEEDS,
    note="The printed table does show it, with half the mAP on CIFAR-10 with 12 bits (0.3008 of 0.6012); that alone is "
    "no replication. The radius of mLGAP is not stated; the readings with m = k are of `buffer_zone_half`, whose "
    f"margin is k/2 bits under L1. {_TRAINING}",
)
def objectives_apart(results: Results) -> Evidence:
    """Compare the networks on images by the two objectives, at each radius that mLGAP may have."""

    def values(cell: str, radius: int, old: dict[str, float], new: dict[str, float]) -> dict[str, float]:
        metric = f"mLGAP@r{radius}"
        return {
            f"{cell}: mAP, new minus old": new["mAP"] - old["mAP"],
            f"{cell}: mLGAP, old minus new": old[metric] - new[metric],
        }

    return _at_each_radius(results, [(_OLD, new) for new in _MARGINS], values)


@PAPER.claim(
    "X-02",
    place="figure 8",
    statement="The objective with the buffer zone spreads the codes of CIFAR-10: more of them are in use than with the "
    "original objective.",
    expected={f"{n_bits} bits: codes used by the original objective over the new": 1 for n_bits in _LENGTHS},
    relation="<",
    data=True,
    needs="the metric `utilisation` of networks on images by both objectives with 12 and 24 bits: `snakemake "
    "--configfile workflow/config/cifar10_mlgap_images.yaml -- metrics`",
    note=f"The figure shows 12 bits, without numbers; 24 bits are ours. {_TRAINING}",
)
def spread_of_codes(results: Results) -> Evidence:
    """Divide the utilisation by the two objectives; heads over GIST are shown next to the networks on images."""
    means, substitute = _networks(results, _OLD, _NEW)
    values: dict[str, Any] = {}
    for n_bits in _LENGTHS:
        old, new = means.get(f"{_TITLES['cifar10']}, {n_bits} bits", [{}, {}])
        if "utilisation" in old and "utilisation" in new:
            ratio = new["utilisation"] / old["utilisation"]
            values[f"{n_bits} bits: codes used by the original objective over the new"] = 1 / ratio
            values[f"{n_bits} bits: the new over the original"] = ratio
    if values:
        values |= _spread_on_gist(results)
    return Evidence.as_printed(values, substitute=substitute)


def _spread_on_gist(results: Results) -> Values:
    cell = {"dataset": "cifar10", "feature": "gist", "split": "cifar10_s2", "extension": "none"}
    rows = results.rows(**cell, metric="utilisation", ground_truth="class_label", hasher=(_OLD, _NEW), n_bits=_LENGTHS)
    used = {(Path(row.folder).name, row.n_bits, row.hasher): row.mean for row in rows}
    return {
        f"heads over GIST ({folder}), {n_bits} bits: the new over the original": ours / used[folder, n_bits, _OLD]
        for (folder, n_bits, hasher), ours in sorted(used.items())
        if hasher == _NEW and (folder, n_bits, _OLD) in used
    }


@PAPER.claim(
    "S0-13",
    place="section 5.3",
    statement="The networks are trained with a margin of 2k, buffer zones from k/6 to k/3 (CIFAR-10), from k/12 to k/6 "
    "and from k/6 to k/3 (CIFAR-100), for 750 epochs, in batches of 200, at a rate of 0.01 that falls by 40 % every "
    "150 epochs.",
    expected={
        "margin over k": 2,
        "CIFAR-10 zone over k": [1 / 6, 1 / 3],
        "CIFAR-100 zones over k": [1 / 12, 1 / 6, 1 / 6, 1 / 3],
        "epochs": 750,
        "batch": 200,
        "rate": 0.01,
        "decay": 0.4,
        "epochs between two decays, of 750": 150,
    },
    within=1e-12,
    note="Compared with the hasher as it is registered, which needs no data. An experiment sets epochs, batches and "
    "rate by `hasher_options`; results/reference/learned/README.md has those of the stored networks. The paper names "
    "no optimiser; ours is Adam.",
    errata=("E0-03",),
)
def training() -> Values:
    """Read the constants and the defaults of the hasher `buffer_zone`."""
    hasher = registry.get("hasher", "buffer_zone")
    factor, stretches = hasher.decay
    (one,), (of_superclass, of_class) = hasher.PAPER_ZONES[1], hasher.PAPER_ZONES[2]
    by_default = hasher()
    return {
        "margin over k": by_default.margin,
        "CIFAR-10 zone over k": list(one),
        "CIFAR-100 zones over k": [*of_class, *of_superclass],
        "epochs": by_default.epochs,
        "batch": by_default.batch_size,
        "rate": by_default.learning_rate,
        "decay": 1 - factor,
        "epochs between two decays, of 750": _EPOCHS / stretches,
    }


@PAPER.claim(
    "X-07",
    place="section 5.3",
    statement="The margin m = 2k of both objectives asks for dissimilar codes that are at least k/2 bits apart.",
    expected={"eq. 18, squared distance: bits apart over k": 0.5, "eq. 23, L1 distance: bits apart over k": 0.5},
    within=1e-12,
    note="Each bit that differs adds 4 to the squared distance of codes of -1 and +1, but 2 "
    "to their L1 distance. So the new objective's margin asks for codes that differ in every bit, and its zones for "
    "half the bits that their limits name.",
    errata=("E0-04",),
)
def margin_in_bits() -> Values:
    """Find the fewest of 12 bits in which two codes must differ for the loss of a dissimilar pair to be 0."""
    n_bits = 12
    other = np.where(np.tri(n_bits + 1, n_bits, -1) > 0, -1, 1)  # row d differs from a code of +1 in d bits
    apart = {
        "eq. 18, squared distance": ((1 - other) ** 2).sum(axis=1),
        "eq. 23, L1 distance": np.abs(1 - other).sum(axis=1),
    }
    loss = {name: np.maximum(2 * n_bits - distance, 0) for name, distance in apart.items()}
    return {f"{name}: bits apart over k": int((of_pair == 0).argmax()) / n_bits for name, of_pair in loss.items()}


@PAPER.claim(
    "S0-14",
    place="section 5.1",
    statement="CIFAR-10: 10 classes of 6,000, 5,000 to train and 1,000 to test; CIFAR-100: 100 classes of 600 in 20 "
    "groups of 5.",
    expected={
        "CIFAR-10 classes": 10,
        "CIFAR-10 per class": 6000,
        "CIFAR-10 train per class": 5000,
        "CIFAR-10 test per class": 1000,
        "CIFAR-100 fine": 100,
        "CIFAR-100 coarse": 20,
        "CIFAR-100 fine per coarse": 5,
        "CIFAR-100 per fine": 600,
    },
    data=True,
    needs="the files of the data sets, counted by `python tests/reference/claims_tables.py MIRROR`",
)
def sizes_of_the_datasets(results: Results) -> Values:
    """Read the counts of the loaded data from results/reference/claims/datasets.csv."""
    return {
        f"{title} {name}": found
        for dataset, names in (
            ("cifar10", ("classes", "per class", "train per class", "test per class")),
            ("cifar100", ("fine", "coarse", "fine per coarse", "per fine")),
        )
        for title in (_TITLES[dataset],)
        for name in names
        if (found := results.statistic(dataset, name)) is not None
    }


@PAPER.claim(
    "S0-15",
    place="figure 7",
    statement="The true positives of a query that shows a cat's head, by the new objective, are mostly within Hamming "
    "distance 1.",
    expected={f"{n_bits} bits: share at distance 2 of those within 2": 0.5 for n_bits in _LENGTHS},
    relation="<",
    data=True,
    needs="recall@r1 and recall@r2 of `buffer_zone` on the images of CIFAR-10, 12 and 24 bits: add both metrics to "
    "workflow/config/cifar10_mlgap_images.yaml",
    note="The figure shows one query, up to distance 2, and neither its code length nor its number. Classes have equal "
    f"sizes, so the quotient of two mean recalls is that of items. {_TRAINING}",
)
def true_positives_nearby(results: Results) -> Evidence:
    """Compare recall@r1 with recall@r2 of the networks on images, over all queries and their class."""
    means, substitute = _networks(results, _NEW)
    values = {}
    for n_bits in _LENGTHS:
        (found,) = means.get(f"{_TITLES['cifar10']}, {n_bits} bits", [{}])
        if "recall@r1" in found and found.get("recall@r2", 0) > 0:
            values[f"{n_bits} bits: share at distance 2 of those within 2"] = (
                1 - found["recall@r1"] / found["recall@r2"]
            )
    of_queries = "all queries and items of their class for one query and cats' heads"
    return Evidence.as_printed(values, substitute=", ".join(filter(None, (of_queries, substitute))))


@PAPER.claim(
    "X-01",
    place="eq. 10, beside eq. 1 of On the Evaluation Metric for Hashing",
    statement="On the same codes mLGAP is never below RAMAP at the same radius, and equal where every ball lies in one "
    "bucket: a term is RAMAP's times items in the ball over its fullest bucket.",
    expected={"queries and radii with mLGAP below RAMAP": 0, "difference where all lies in one bucket": 0},
    note="In neither paper: it follows from their definitions, whether empty balls count 0 or are left out.",
)
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
        "difference where all lies in one bucket": value(one, "mLGAP@r2") - value(one, "RAMAP@r2"),
    }

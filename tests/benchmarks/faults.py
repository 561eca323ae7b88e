"""Sixty faults, one at a time: how many do the tests find?

Run by hand: ``python tests/benchmarks/faults.py`` (``--help`` for the options). Each fault is seeded into a copy of the
checkout, and pytest runs there until the first failure, so a fault that is found early costs seconds, and one that is
missed costs the whole suite. First come the tests in the folder of the fault's package. A fault whose line occurs not
exactly once in the checkout is an error, so the list follows the code.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Fault(NamedTuple):
    """A line and its faulty replacement, and the folder of tests that is run first."""

    kind: str
    tests: str
    right: str
    wrong: str


FAULTS = [
    # metrics
    Fault("off by one", "metrics", "slope = (m - 1) / np.maximum(n - 1, 1)", "slope = m / np.maximum(n - 1, 1)"),
    Fault(
        "sign",
        "metrics",
        'first = before if ties == "best" else before + n - m',
        'first = before if ties == "best" else before + n + m',
    ),
    Fault(
        "swapped cases",
        "metrics",
        'first = before if ties == "best" else before + n - m',
        'first = before + n - m if ties == "best" else before',
    ),
    Fault("off by one", "metrics", "lambda ranks: 1 / np.log2(ranks + 1)", "lambda ranks: 1 / np.log2(ranks + 2)"),
    Fault("formula", "metrics", "gains = np.exp2(counts.levels) - 1", "gains = np.exp2(counts.levels)"),
    Fault(
        "formula",
        "metrics",
        "ratio(sizes @ (sizes - 1), n_items * (n_items - 1), empty=empty)",
        "ratio(sizes @ sizes, n_items * n_items, empty=empty)",
    ),
    Fault("off by one", "metrics", "upto = slice(radius + 1)", "upto = slice(radius)"),
    Fault(
        "off by one",
        "metrics",
        "accumulate(comb(n_bits, i) for i in range(radius + 1))",
        "accumulate(comb(n_bits, i) for i in range(1, radius + 2))",
    ),
    Fault(
        "off by one",
        "metrics",
        "return (counts.retrieved_within >= top).argmax(axis=1)",
        "return (counts.retrieved_within > top).argmax(axis=1)",
    ),
    Fault("dropped case", "metrics", "could = min(2**counts.n_bits, int(sizes.sum()))", "could = 2**counts.n_bits"),
    Fault(
        "formula",
        "metrics",
        "return ratio((1 + beta**2) * counts.relevant_within[:, at], weighted, empty=empty)",
        "return ratio((1 + beta) * counts.relevant_within[:, at], weighted, empty=empty)",
    ),
    Fault(
        "swapped axis", "metrics", "on_curve = ~np.isnan(precision)", "on_curve = np.ones_like(precision, dtype=bool)"
    ),
    # counting and codes
    Fault(
        "swapped axis",
        "shared",
        'return np.packbits(array.astype(bool, copy=False), axis=1, bitorder="little")',
        'return np.packbits(array.astype(bool, copy=False), axis=1, bitorder="big")',
    ),
    Fault(
        "swapped",
        "shared",
        'return appended(query, True), appended(database, extension == "same"), n_bits + extension_bits',
        'return appended(query, True), appended(database, extension != "same"), n_bits + extension_bits',
    ),
    Fault(
        "dropped check",
        "shared",
        "if any((codes[start : start + _BLOCK, -1] >> (8 - spare)).any() for start in blocks):",
        "if False:",
    ),
    Fault("sign", "counting", "_groups(-scores[at],", "_groups(scores[at],"),
    Fault(
        "off by one",
        "counting",
        'ranks = np.flatnonzero(is_relevant[np.argsort(places[code_of_item], kind="stable")]) + 1',
        'ranks = np.flatnonzero(is_relevant[np.argsort(places[code_of_item], kind="stable")]) + 2',
    ),
    Fault("lost rows", "counting", "found[:] = False", "pass"),
    # ground truths
    Fault("comparison", "truth", 'strict=comparison == "<")', 'strict=comparison != "<")'),
    Fault(
        "off by one",
        "truth",
        'len(database.X) if count_in == "database" else len(train.X) - 1',
        'len(database.X) if count_in == "database" else len(train.X) + 100',
    ),
    Fault(
        "off by one",
        "truth",
        "graded[chunk] = np.asarray(levels, dtype=np.int64)[within - 1]",
        "graded[chunk] = np.asarray(levels, dtype=np.int64)[within - 2]",
    ),
    Fault(
        "wrong item",
        "truth",
        "return np.delete(np.concatenate(to_all), row)",
        "return np.delete(np.concatenate(to_all), 0)",
    ),
    # hashers
    Fault(
        "lost step",
        "hashers",
        "self.projection_ = (components.directions @ rotation).astype(np.float32)",
        "self.projection_ = components.directions.astype(np.float32)",
    ),
    Fault(
        "off by one",
        "hashers",
        "frequency = np.arange(1, self.n_bits + 1) * np.pi / extent[:, None]",
        "frequency = np.arange(self.n_bits) * np.pi / extent[:, None]",
    ),
    Fault(
        "sign",
        "hashers",
        "return centres + (force.sum(axis=1)[:, None] * centres - force @ centres) / len(centres)",
        "return centres - (force.sum(axis=1)[:, None] * centres - force @ centres) / len(centres)",
    ),
    Fault(
        "formula",
        "hashers",
        "thresholds = (normals * (one + other)).sum(axis=1) / 2",
        "thresholds = (normals * (one + other)).sum(axis=1)",
    ),
    Fault("formula", "hashers", "width = np.sqrt(self.gamma)", "width = self.gamma"),
    Fault("sign", "hashers", "return P, -c, {", "return P, c, {"),
    Fault(
        "lost factor",
        "hashers",
        "distance = (codes.shape[1] - codes @ codes.T) / 2",
        "distance = codes.shape[1] - codes @ codes.T",
    ),
    Fault(
        "sign",
        "hashers",
        "return (_entropy(all_others) - given).mean()",
        "return (_entropy(all_others) + given).mean()",
    ),
    Fault("lost factor", "hashers", "return (loss * jaccard * similar).sum()", "return (loss * similar).sum()"),
    # splits
    Fault("dropped check", "splits", "if shared.size and not self.overlaps(a, b):", "if False:"),
    Fault(
        "leak",
        "splits",
        'return _without(n_items, [parts[name] for name in DRAWN if not self.overlaps(name, "database")])',
        'return _without(n_items, [parts[name] for name in DRAWN[1:] if not self.overlaps(name, "database")])',
    ),
    Fault("lost shuffle", "splits", "order = rng.permutation(n_items)", "order = np.arange(n_items)"),
    Fault(
        "imbalance",
        "splits",
        "turn[by_class] = np.arange(n_items) - np.repeat(starts, count)",
        "turn[by_class] = np.arange(n_items)",
    ),
    # features and datasets
    Fault("formula", "features", "words = (products - half_squares).argmax(axis=2)", "words = products.argmax(axis=2)"),
    Fault(
        "lost step",
        "features",
        "return counts / np.linalg.norm(counts, axis=1, keepdims=True)",
        "return counts / counts.sum(axis=1, keepdims=True)",
    ),
    Fault(
        "sign",
        "features",
        "turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)",
        "turned = np.where(turned > np.pi, turned + np.pi, turned)",
    ),
    # evaluation, statistics, comparison, report
    Fault(
        "statistics",
        "scores",
        "return 4 * int(queries[-1]) / int(database[0])",
        "return int(queries[-1]) / int(database[0])",
    ),
    Fault(
        "statistics",
        "scores",
        "float(x.std(ddof=1)) * (1 / x.size + shared) ** 0.5",
        "float(x.std()) * (1 / x.size + shared) ** 0.5",
    ),
    Fault(
        "statistics",
        "scores",
        "confidence = 1 - (1 - CONFIDENCE) / math.comb(len(ranked), 2)",
        "confidence = CONFIDENCE",
    ),
    Fault(
        "wrong column",
        "scores",
        'ascending=better == "lower", kind="stable")',
        'ascending=better != "lower", kind="stable")',
    ),
    Fault("lost escape", "scores", 'return f"\'{cell}"', "return cell"),
    # audits
    Fault(
        "severity",
        "auditing",
        '(a, b) == ("query", "train") else "warning"',
        '(a, b) == ("train", "query") else "warning"',
    ),
    Fault("wrong item", "auditing", "return np.where(found == a, -1, found)", "return found"),
    Fault("lost case", "auditing", "block = block + 0.0  # -0.0 becomes 0.0", "block = block"),
    Fault(
        "comparison",
        "auditing",
        "(given < counts.max(axis=1)) | (shares < agreement)",
        "(given < counts.max(axis=1)) & (shares < agreement)",
    ),
    # files and seeds
    Fault(
        "stale file",
        "provenance",
        'return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest()[:4], "big")',
        'return int.from_bytes(hashlib.sha256(json.dumps(parts[:1]).encode()).digest()[:4], "big")',
    ),
    Fault("dropped check", "provenance", "if found != recorded:", "if False:"),
    Fault("dropped check", "provenance", "if line != os.fsencode(checksum_line(path, found)):", "if False:"),
    Fault(
        "stale file", "workflow", 'code=code("score.py", metric=tuple(CONFIG["metrics"])),', 'code=code("score.py"),'
    ),
    # and others
    Fault("sign", "selection", "return int(np.nanargmax(values))", "return int(np.nanargmin(values))"),
    Fault(
        "comparison",
        "truth",
        "return self._shared(self.groups[group]) == self.levels[:, None]",
        "return self._shared(self.groups[group]) >= self.levels[:, None]",
    ),
    Fault(
        "comparison",
        "truth",
        "if ends[0] != 0 or ends[-1] != found.size or (ends[1:] < ends[:-1]).any():",
        "if ends[-1] != found.size:",
    ),
    Fault("statistics", "report", "level = LEVEL / max(1, int(learns.sum()))", "level = LEVEL"),
    Fault(
        "swapped cases",
        "scores",
        'return "protocol" if empty == "zero" else "protocol, undefined left out"',
        'return "protocol" if empty != "zero" else "protocol, undefined left out"',
    ),
    Fault(
        "dropped check", "datasets", 'if [line[0].decode(errors="replace") for line in lines] != photos:', "if False:"
    ),
    Fault("dropped check", "comparison", "if a is not None and b is not None and a != b:", "if False:"),
    Fault(
        "off by one",
        "configuration",
        "return 1 if per_job is None else max(1, math.ceil(items(experiment) / per_job))",
        "return 1 if per_job is None else max(1, items(experiment) // per_job)",
    ),
    Fault("off by one", "duplicates", "k = min(k, len(database) - same)", "k = min(k, len(database)) - 1"),
]


def clone_with(fault: Fault, folder: str) -> None:
    """Clone the last commit into `folder`, and put the fault into its line."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    files = [
        path
        for ending in ("py", "smk")
        for top in ("protocol", "workflow")
        for path in Path(folder, top).rglob(f"*.{ending}")
    ]
    places = [path for path in files for _ in range(path.read_text().count(fault.right))]
    if len(places) != 1:
        raise ValueError(f"{fault.right!r}: expected once in the package and the rules, got {len(places)} times")
    places[0].write_text(places[0].read_text().replace(fault.right, fault.wrong))


def first_failure(fault: Fault, folder: str, options: list[str]) -> str | None:
    """Return the first test that fails in a clone; None if all pass. The folder of the fault's package comes first."""
    environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    for selection in ([f"tests/{fault.tests}", "tests/contracts"], []):
        done = subprocess.run([*pytest, *selection], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return (failed or [f"pytest ended with status {done.returncode}"])[0]
    return None


def main() -> int:
    """Seed the faults and print a line for each; the exit status is 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look for the line of each fault")
    parser.add_argument(
        "--only", type=int, nargs="*", default=range(len(FAULTS)), metavar="N", help="numbers of faults"
    )
    parser.add_argument("options", nargs="*", help="options of pytest, after --")
    arguments = parser.parse_args()
    missed = 0
    for number in arguments.only:
        fault, began = FAULTS[number], time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            clone_with(fault, folder)
            result = "line found" if arguments.check else first_failure(fault, folder, arguments.options) or "missed"
        missed += result == "missed"
        sys.stdout.write(f"{number:2}  {fault.kind:13}  {time.perf_counter() - began:4.0f} s  {result[:100]}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{missed} of {len(arguments.only)} faults were missed\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Time and peak memory as the database grows, run by hand: `python tests/benchmarks/growth.py --help`.

Every stage runs in a fresh process, on one core, on vectors of the dataset `synthetic`. With `--shards N`, a database
of 20 million codes is counted by `protocol evaluate` and by N jobs of the pipeline instead. With `--jobs`, the whole
pipeline runs on 20 million vectors, and every rule is measured. The measures, a figure, and
a page that works out from them what 100 million items take are written to results/reference/growth/. The machine has to
be idle: measures whose wall time is well above their CPU time are refused.
"""

import argparse
import datetime
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}  # one core each

import numpy as np
import pandas as pd
import yaml

from protocol import codes, datasets, metrics, registry
from protocol.checks import counted
from protocol.counting import count
from protocol.hashers import TrainingSet
from protocol.provenance import storage
from protocol.truth import Items
from protocol.truth.relevance import LabelRelevance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "reference" / "growth"
SIZES = (10_000, 100_000, 1_000_000)
N_QUERIES, N_BITS, DIMENSION = 1000, 64, 128
STAGES = {
    "evaluate": f"count {N_QUERIES:,} queries against the database, {N_BITS} bits, class labels; every metric",
    "truth": f"epsilon-ball of {N_QUERIES:,} queries in the database, {DIMENSION} dimensions",
    "training": f"ITQ, {N_BITS} bits, trained on all items",
    "encoding": f"all items into {N_BITS} bits by an ITQ trained on 10,000",
}
# Metrics that add up over shards, without those that look at every cutoff; and the database that is counted in shards.
ADDED = ("mAP", "mAP@1000[all]", "nDCG", "AUPRC[area]", "precision@r2", "recall@r2")
LARGE = 20_000_000
BUSY = 1.2
"""Wall time over CPU time, on one core, above which another process had a part of the core."""
# The job whose cost is worked out.
TARGET, TARGET_QUERIES, TARGET_TRAINING = 100_000_000, 10_000, 1_000_000


def vectors(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return `n` vectors and their labels."""
    options = {"n": n, "dimension": DIMENSION, "n_clusters": 1000, "spread": 0.5, "seed": 0}
    data = datasets.load("synthetic", {}, options)
    X = np.empty((n, DIMENSION), dtype=np.float32)
    for start in range(0, n, 65_536):
        X[start : start + 65_536] = data.vectors["features"][start : start + 65_536]
    return X, data.labels


def evaluate(n: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    query, database = (codes.pack(rng.random((m, N_BITS), dtype=np.float32) < 0.5) for m in (N_QUERIES, n))
    truth = LabelRelevance(rng.integers(0, 10, N_QUERIES), rng.integers(0, 10, n))
    names = metrics.everything(N_BITS)
    return lambda: metrics.evaluate(count(query, database, N_BITS, {"class": truth}, index_order=True)["class"], names)


def truth(n: int) -> Callable[[], object]:
    X, y = vectors(n)
    query, train = Items(X[:N_QUERIES], y[:N_QUERIES]), Items(X[: min(n, 50_000)], None)
    return lambda: registry.get("ground_truth", "epsilon_ball")(query, Items(X, y), train, seed=0)


def training(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    return lambda: registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X))


def encoding(n: int) -> Callable[[], object]:
    X, _ = vectors(n)
    model = registry.get("hasher", "itq")(n_bits=N_BITS, seed=0).fit(TrainingSet(X[:10_000]))
    return lambda: [codes.pack(model.transform(X[start : start + 65_536])) for start in range(0, n, 65_536)]


def measure(stage: str, n: int) -> dict[str, float]:
    """Return wall and CPU seconds of a stage, and the peak memory of this process, data and libraries included."""
    run = globals()[stage](n)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": round(peak)}


def load() -> float:
    """Return the number of processes that want to run, as the mean over the last minute."""
    return os.getloadavg()[0]


def check_idle(rows: Sequence[dict[str, float]], *, busy: bool) -> None:
    """Stop if another process had a part of the core; short measures are mostly the start of their process."""
    for row in rows:
        if row["wall_s"] > BUSY * row["cpu_s"] + 0.1 and not busy:
            sys.exit(
                f"the machine is busy: {row}, load {load():.1f}. Wait, or pass --busy to write nothing but show it."
            )


def machine() -> dict[str, str]:
    """Return the processor, the date and the versions that the measures belong to."""
    named = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    versions = storage.versions()
    return {
        "cpu": named[1] if named else platform.processor(),
        "cores": str(os.cpu_count()),
        "date": datetime.date.today().isoformat(),
        "versions": ", ".join(f"{name} {versions[name]}" for name in ("python", "numpy", "numba") if name in versions),
    }


def watched(command: Sequence[str], folder: Path) -> dict[str, float]:
    """Run a command; return its wall and CPU seconds and its peak memory, with and without pages of mapped files."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    started, most = time.perf_counter(), [0]
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)

        def look() -> None:
            while process.returncode is None:
                status = Path(f"/proc/{process.pid}/status")
                found = re.search(r"RssAnon:\s*([0-9]+)", status.read_text()) if status.exists() else None
                most.append(int(found[1]) if found else 0)
                time.sleep(0.02)

        watcher = threading.Thread(target=look)
        watcher.start()
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        watcher.join()
    wall = time.perf_counter() - started
    if process.returncode:
        sys.exit((folder / "output.txt").read_text())
    return {
        "wall_s": round(wall, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss / 2**10),
        "without_mapped_mb": round(max(most) / 2**10),
    }


def experiment(n: int, n_shards: int) -> dict[str, object]:
    """Return the config file of an experiment whose database has `n` items, with codes in files."""
    return {
        "experiment": "large",
        "dataset": "synthetic",
        "dataset_options": {"n": n + N_QUERIES + 1100, "dimension": 2, "n_clusters": 100},
        "features": {"precomputed": {"preprocessing": ["centre"]}},
        "ground_truths": ["class_label"],
        "splits": ["improved"],
        "runs": 1,
        "split_sizes": {"query": N_QUERIES, "validation_query": 50, "validation_database": 50, "train": 1000},
        "hashers": ["lsh"],
        "n_bits": [N_BITS],
        "extensions": ["none"],
        "metrics": list(ADDED),
        "count_shards": n_shards,
        "codes": {"mine": {"query": "query.npy", "database": "database.npy"}},
    }


def large(n: int, n_shards: int) -> Iterator[dict[str, object]]:
    """Yield the measures of counting `n` codes by one command and in shards; stop unless the results are the same."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, size in (("query", N_QUERIES), ("database", n)):
            np.save(folder / f"{side}.npy", rng.integers(0, 256, (size, N_BITS // 8), dtype=np.uint8))
        (folder / "large.yaml").write_text(yaml.safe_dump(experiment(n, n_shards)))
        snakemake = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--configfile", "large.yaml"]
        target = ["--cores", "1", "--", "results/large/precomputed/scores/mine.csv"]
        watched([*snakemake, *target], folder)
        yield from jobs(folder / "results" / "large" / "benchmarks" / "precomputed")
        scores = pd.read_csv(folder / "results/large/precomputed/scores/mine.csv").set_index("metric")["value"]

        split = storage.read(folder / "results/large/splits/improved/run0/splits.h5")
        (labels,) = (folder / "results/datasets").glob("*/items.h5")
        found = storage.read(labels, ["labels"])["labels"]
        for side in ("query", "database"):
            np.save(folder / f"{side}_labels.npy", found[split[side]])
        files = [f"--{side}-{kind}" for side in ("query", "database") for kind in ("codes", "labels")]
        names = [f"{side}{kind}.npy" for side in ("query", "database") for kind in ("", "_labels")]
        command = [sys.executable, "-m", "protocol", "evaluate", "--n-bits", str(N_BITS), "--json", "scores.json"]
        command += [part for pair in zip(files, names, strict=True) for part in pair]
        for what, threads, chosen in (("evaluate", 1, ADDED), ("evaluate", 2, ADDED), ("with buckets", 1, None)):
            options = ["--threads", str(threads), *(["--metric", *chosen] if chosen else [])]
            yield {"what": what, "threads": threads, **watched([*command, *options], folder)}
            values = json.loads((folder / "scores.json").read_text())["metrics"]
            for metric in ADDED if chosen else ():
                if f"{values[metric]:.9g}" != f"{scores[metric]:.9g}":
                    sys.exit(f"{metric}: {values[metric]} by the command, {scores[metric]} in shards")
            (folder / "scores.json").unlink()


def every_job(n: int) -> Iterator[dict[str, object]]:
    """Yield the largest wall time and peak memory of the jobs of each rule, for an experiment with `n` vectors."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder, config = Path(name), experiment(n - N_QUERIES - 11_000, max(2, n // 1_000_000))
        labels, centres = rng.integers(0, 100, n), rng.standard_normal((100, 8), dtype=np.float32)
        vectors = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, (n, 8))
        for start in range(0, n, 65_536):
            means = centres[labels[start : start + 65_536]]
            vectors[start : start + 65_536] = means + 0.5 * rng.standard_normal(means.shape, dtype=np.float32)
        vectors.flush()
        np.save(folder / "labels.npy", labels)
        for side, size in (("query", N_QUERIES), ("database", n - N_QUERIES - 11_000)):
            np.save(folder / f"{side}.npy", rng.integers(0, 256, (size, N_BITS // 8), dtype=np.uint8))
        config |= {"dataset": "arrays", "dataset_options": {"features": "features.npy", "labels": "labels.npy"}}
        config["split_sizes"] = {
            "query": N_QUERIES,
            "validation_query": 500,
            "validation_database": 500,
            "train": 10_000,
        }
        (folder / "large.yaml").write_text(yaml.safe_dump(config))
        command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--configfile", "large.yaml"]
        watched([*command, "--cores", "1", "--", "report"], folder)
        yield from of_logs(folder)


def of_logs(folder: Path) -> Iterator[dict[str, object]]:
    """Yield the largest wall time and peak memory in the logs of each rule's jobs."""
    rows = []
    for log in sorted((folder / "results").rglob("*.log")):
        text = log.read_text()
        rule, peak = (re.search(pattern, text, re.M) for pattern in (r"^\S+ \S+ (\w+) \{", r"peak memory (\d+) MB"))
        if rule and peak:
            lines = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", text, re.M)
            first, last = (datetime.datetime.strptime(line, "%Y-%m-%d %H:%M:%S,%f") for line in (lines[0], lines[-1]))
            rows.append({"rule": rule[1], "seconds": (last - first).total_seconds(), "peak_mb": int(peak[1])})
    for rule, of_rule in pd.DataFrame(rows).groupby("rule", sort=False):
        seconds = round(float(of_rule["seconds"].max()), 1)
        yield {"experiment": "large", "rule": rule, "seconds": seconds, "peak_mb": int(of_rule["peak_mb"].max())}


def jobs(folder: Path) -> Iterator[dict[str, object]]:
    """Yield the measures of the pipeline's jobs, those of one rule together: the longest, and the most memory."""
    rows = [
        pd.read_csv(path, sep="\t").assign(what=path.stem)
        for path in sorted(folder.rglob("*.tsv"))
        if "mine" in path.parts
    ]
    for what, of_rule in pd.concat(rows).groupby("what", sort=False):
        yield {
            "what": f"{what}, {len(of_rule)} jobs" if len(of_rule) > 1 else str(what),
            "threads": 1,
            "wall_s": round(float(of_rule["s"].max()), 1),
            "cpu_s": round(float(of_rule["cpu_time"].max()), 1),
            "peak_mb": round(float(of_rule["max_rss"].max())),
        }


def projected(table: pd.DataFrame) -> dict[str, float]:
    """Return what TARGET items would take, from the rates of the largest size measured.

    Counting and ground truth go with queries x items, encoding with items; training takes a sample as large as the
    largest measured. Hours are those of one core; memory is that of a shard as large as the largest measured.
    """
    largest = int(table["n"].max())
    at = table[table["n"] == largest].set_index("stage")
    pairs, hours = TARGET_QUERIES * TARGET / (N_QUERIES * largest), at["cpu_s"] / 3600
    by_stage = {
        "evaluate_h": hours["evaluate"] * pairs,
        "truth_h": hours["truth"] * pairs,
        "encoding_h": hours["encoding"] * TARGET / largest,
    }
    return by_stage | {
        "divided_h": sum(by_stage.values()),
        "training_h": hours["training"] * TARGET_TRAINING / largest,
        "shards": TARGET / largest,
        "shard_mb": float(at["peak_mb"].max()),
        "codes_gb": TARGET * N_BITS / 8 / 1e9,
        "features_gb": TARGET * DIMENSION * 4 / 1e9,
    }


def page(
    table: pd.DataFrame, made_on: dict[str, str] | None, shards: pd.DataFrame | None, of_rules: pd.DataFrame | None
) -> str:
    """Return the page, every number of it from the tables; without a record of the machine, and of shards, if None."""
    described = "a machine that was not recorded"
    if made_on is not None:
        described = f"{made_on['cpu']} ({made_on['cores']} cores; {made_on['date']}; {made_on['versions']})"
    rows = [
        f"| {row.stage} | {row.n:,} | {row.wall_s:.2f} | {row.cpu_s:.2f} | {row.peak_mb:,.0f} |"
        for row in table.itertuples(index=False)
    ]
    p = projected(table)
    stages = "\n".join(f"- **{stage}**: {what}" for stage, what in STAGES.items())
    return f"""# Growth

Made by `python tests/benchmarks/growth.py`. Every row was measured in a fresh process on one core of
{described}.
Peak memory is that of the whole process, including its data and libraries.

{stages}

| stage | items | seconds | CPU seconds | peak memory, MB |
| --- | --: | --: | --: | --: |
{chr(10).join(rows)}

![seconds and memory by number of items](growth.svg)

## {TARGET // 10**6} million items

One run of one hasher at one code length, {TARGET_QUERIES:,} queries, in hours of one core, from the rates above:

| stage | hours | how it is divided |
| --- | --: | --- |
| truth | {p["truth_h"]:.1f} | by blocks of queries and of the database, because neighbours can be merged |
| training | {p["training_h"]:.2f} | not divided: trained on a sample of {TARGET_TRAINING:,} items |
| encoding | {p["encoding_h"]:.2f} | by rows, because a code depends only on the model and the item |
| evaluate | {p["evaluate_h"]:.1f} | by shards of the database, because counts add up and metrics need only counts |

With {p["shards"]:.0f} shards, a job needs no more than the {p["shard_mb"]:,.0f} MB measured above. Codes take
{p["codes_gb"]:.1f} GB on disk for each code length, and features {p["features_gb"]:.0f} GB. One such core does
the work in {p["divided_h"] + p["training_h"]:.1f} hours. With a core for each shard, it takes
{counted(round(60 * (p["divided_h"] / p["shards"] + p["training_h"])), "minute")}.

The key `count_shards` of a config file divides the counting among jobs (`docs/how-to/count-on-a-cluster.md`). The
ground truth and the encoding run block by block in one job each. Metrics that depend on the order of the database
(`mAP[index]`) or on buckets (mLGAP, utilisation and others) don't add up over shards and are refused there;
`protocol evaluate` computes those of buckets from all codes, which it sorts in memory.
{"" if shards is None else _of_shards(shards)}{"" if of_rules is None else _of_rules(of_rules)}"""


def _of_shards(table: pd.DataFrame) -> str:
    """Return the part of the page about a large database."""
    rows = [
        f"| {row.what} | {row.threads} | {row.wall_s:.1f} | {row.cpu_s:.1f} | {row.peak_mb:,.0f} | "
        f"{'' if np.isnan(row.without_mapped_mb) else f'{row.without_mapped_mb:,.0f}'} |"
        for row in table.itertuples(index=False)
    ]
    return f"""
## {LARGE // 10**6} million items, counted

Made by `python tests/benchmarks/growth.py --shards {table["n_shards"].iloc[0]}`: random codes of {N_BITS} bits and 100
classes in files, {N_QUERIES:,} queries, and the metrics {", ".join(ADDED)}. The first rows are the jobs of the
pipeline; for a rule with several jobs, they contain the longest time and the largest memory of a job. The others are
`protocol evaluate`, which maps codes and labels from their files; the last column excludes the pages of these files.
The row `with buckets` has the metrics of the convention `default`, including mLGAP and utilisation. All results are
the same to nine digits.

| what | threads | seconds | CPU seconds | peak memory, MB | without mapped files, MB |
| --- | --: | --: | --: | --: | --: |
{chr(10).join(rows)}
"""


def _of_rules(table: pd.DataFrame) -> str:
    """Return the part of the page about every rule."""
    rows = [
        f"| {row.rule} | {row.seconds:.1f} | {row.peak_mb:,.0f} | {row.peak_mb * TARGET / LARGE / 1e3:.1f} |"
        for row in table[table["experiment"] == "large"].itertuples(index=False)
    ]
    return f"""
## {LARGE // 10**6} million items, every job

Made by `python tests/benchmarks/growth.py --jobs`: {LARGE // 10**6} million vectors of 8 dimensions in a file, with 100
classes; LSH and finished codes of 64 bits, {N_QUERIES:,} queries, {LARGE // 10**6} shards, and the report. For a rule
with several jobs, the row contains the longest time and the largest memory. Other processes shared the machine, so the
times are longer than on an idle one. The last column is the memory times {TARGET // LARGE}, an upper bound, because a
part of it does not grow. A test compares the requests of the pipeline with these jobs.

| rule | seconds | peak memory, MB | with {TARGET // 10**6} million items, at most, GB |
| --- | --: | --: | --: |
{chr(10).join(rows)}
"""


def figure(table: pd.DataFrame) -> str:
    """Return the figure as SVG."""
    import altair as alt
    import vl_convert

    def panel(column: str, title: str) -> alt.Chart:
        axes = {"scale": alt.Scale(type="log")}
        lines = alt.Chart(table).mark_line(point=True)
        return lines.encode(
            x=alt.X("n:Q", title="items", **axes), y=alt.Y(f"{column}:Q", title=title, **axes), color="stage:N"
        ).properties(width=280, height=220)

    both = alt.hconcat(panel("cpu_s", "CPU seconds"), panel("peak_mb", "peak memory, MB"))
    return vl_convert.vegalite_to_svg(both.to_json())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, metavar=("STAGE", "N"), help="one measure, printed as JSON")
    parser.add_argument("--shards", type=int, metavar="N", help=f"count {LARGE:,} items at once and in N jobs")
    parser.add_argument("--jobs", action="store_true", help=f"measure every rule of the pipeline on {LARGE:,} vectors")
    parser.add_argument("--busy", action="store_true", help="measure on a busy machine, and write nothing")
    parser.add_argument("--page", action="store_true", help="only make the page and the figure again from the tables")
    arguments = parser.parse_args()
    if arguments.measure:
        stage, n = arguments.measure
        sys.stdout.write(json.dumps(measure(stage, int(n))))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.jobs:
        rules = pd.DataFrame(every_job(LARGE))
        if arguments.busy:
            sys.stdout.write(rules.to_string(index=False) + "\n")
            return
        rules.to_csv(FOLDER / "jobs.csv", index=False)
    elif not arguments.page:
        rows = measured_in_shards(arguments.shards) if arguments.shards else measured()
        # Snakemake looks at the CPU time of its jobs every half a second, so theirs is too small.
        on_one_core = [row for row in rows if "stage" in row or (row["threads"] == 1 and "without_mapped_mb" in row)]
        check_idle(on_one_core, busy=arguments.busy)
        if arguments.busy:
            return
        pd.DataFrame(rows).to_csv(FOLDER / ("shards.csv" if arguments.shards else "growth.csv"), index=False)
        (FOLDER / "machine.json").write_text(json.dumps(machine(), indent=2) + "\n")
    table, made_on, of_shards, of_rules = stored()
    (FOLDER / "growth.svg").write_text(figure(table))
    (FOLDER / "README.md").write_text(page(table, made_on, of_shards, of_rules))


def stored() -> tuple[pd.DataFrame, dict[str, str] | None, pd.DataFrame | None, pd.DataFrame | None]:
    """Return the stored measures, the machine they were made on, and the measures in shards and of every rule."""
    record = FOLDER / "machine.json"
    shards, rules = (
        pd.read_csv(path) if path.exists() else None for path in (FOLDER / "shards.csv", FOLDER / "jobs.csv")
    )
    made_on = json.loads(record.read_text()) if record.exists() else None
    return pd.read_csv(FOLDER / "growth.csv"), made_on, shards, rules


def measured() -> list[dict[str, object]]:
    """Return the measures of every stage at every size, each made in a fresh process."""
    rows = []
    for stage in STAGES:
        for n in SIZES:
            command = [sys.executable, __file__, "--measure", stage, str(n)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append({"stage": stage, "n": n, **found})
            sys.stdout.write(f"load {load():.1f}: {rows[-1]}\n")
    return rows


def measured_in_shards(n_shards: int) -> list[dict[str, object]]:
    """Return the measures of a large database."""
    rows = []
    for row in large(LARGE, n_shards):
        rows.append({"n": LARGE, "n_shards": n_shards, **row})
        sys.stdout.write(f"load {load():.1f}: {rows[-1]}\n")
        sys.stdout.flush()
    return rows


if __name__ == "__main__":
    main()

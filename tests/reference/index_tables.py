"""Write ``results/reference/index/``: recall lost to the indexes of faiss, on the codes and GIST vectors of CIFAR-10.

Run by hand, in the environment of the tests, after the command of `COMMAND`, with a mirror if the official archive
can't be reached: `python tests/reference/index_tables.py [FOLDER]`, where FOLDER contains the results. It takes a
minute with one thread.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages
import pandas as pd

import protocol as hp
from protocol.provenance import storage

COMMAND = (
    "snakemake --configfile workflow/config/cifar10.yaml --config runs=1 'hashers=[itq]' 'n_bits=[64, 256]' "
    "'splits=[improved]' --until split model"
)
K, LINKS, LISTS, SEGMENT = 10, 16, 256, 16
EFFORTS = (16, 32, 64, 128, 256), (1, 2, 4, 8, 16, 32, 64), (0, 1, 2)
"""Of HNSW (efSearch), IVF (nprobe) and multi-hash (nflip)."""
COLUMNS = ["n_bits", "index", "effort", "recall", "lost_to_code", "lost_to_index", "lost_to_ties", "exact"]


def searches(indexes: dict[str, Any], queries: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield the index and the effort, and the distances and ids that it returns."""
    for name, index in indexes.items():
        if name == "flat":
            yield (name, 0), index.search(queries, K)
            continue
        setting, owner, efforts = {
            "HNSW": ("efSearch", getattr(index, "hnsw", None), EFFORTS[0]),
            "IVF": ("nprobe", index, EFFORTS[1]),
            "multi-hash": ("nflip", index, EFFORTS[2]),
        }[name]
        for effort in efforts:
            setattr(owner, setting, effort)
            yield (name, effort), index.search(queries, K)


def attributed(indexes: dict[str, Any], sides: tuple[Any, Any], n_bits: int, **given: Any) -> pd.DataFrame:
    """Return the recall lost to the indexes after adding the database to them; no index may make an error."""
    for index in indexes.values():
        index.train(sides[1])
        index.add(sides[1])
    found = dict(searches(indexes, sides[0]))
    names = {f"{name} {effort}": (name, effort) for name, effort in found}
    results, distances = ({name: found[key][at] for name, key in names.items()} for at in (1, 0))
    attribution = hp.attribute(results, distances=distances, k=K, **given)
    assert {fault.kind for fault in attribution.faults} <= {"fewer than K items"}, attribution
    rows = []
    for row in attribution.rows:
        name, effort = names.get(row.name, (row.name, 0))
        rows.append(
            [n_bits, name, effort, row.recall, row.lost_to_code, row.lost_to_index, row.lost_to_ties, row.exact]
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def table(folder: Path) -> tuple[pd.DataFrame, list[str], dict[str, Any]]:
    """Return the recall lost at every code length and for the vectors, the range of ties, and the codes' provenance."""
    import faiss

    faiss.omp_set_num_threads(1)  # the graph of HNSW depends on the order in which threads add items
    split = hp.load_split(next(folder.glob("cifar10/splits/improved/run0/splits.h5")))
    vectors = storage.read(next(folder.glob("datasets/cifar10*/gist/features.h5")))["X"]
    sides = vectors[split.query], vectors[split.database]
    nearest, path = hp.Nearest(*sides, distance="euclidean"), next(folder.glob("cifar10/gist/*/run0/itq/codes.h5"))
    stored, parts, ranges = storage.read(path), [], []
    for n_bits in (64, 256):
        codes = stored[f"{n_bits}/query"], stored[f"{n_bits}/items"][split.database]
        indexes = {
            "flat": faiss.IndexBinaryFlat(n_bits),
            "HNSW": faiss.IndexBinaryHNSW(n_bits, LINKS),
            "IVF": faiss.IndexBinaryIVF(quantizer := faiss.IndexBinaryFlat(n_bits), n_bits, LISTS),
            "multi-hash": faiss.IndexBinaryMultiHash(n_bits, n_bits // SEGMENT, SEGMENT),
        }
        tables = [f"{SEGMENT}x{n_bits // SEGMENT}"]
        given = {"codes": tuple(hp.Codes(side, n_bits) for side in codes), "vectors": nearest, "tables": tables}
        parts.append(attributed(indexes, codes, n_bits, **given))
        del quantizer  # which the index IVF refers to until here
        row = hp.attribute(**given, k=K).rows[0]
        ranges.append(f"{row.least_lost_to_ties:.4f} to {row.most_lost_to_ties:.4f} with {n_bits} bits")
    d = vectors.shape[1]
    quantizer = faiss.IndexFlatL2(d)
    indexes = {
        "flat": faiss.IndexFlatL2(d),
        "HNSW": faiss.IndexHNSWFlat(d, LINKS),
        "IVF": faiss.IndexIVFFlat(quantizer, d, LISTS),
    }
    parts.append(attributed(indexes, sides, 0, vectors=nearest))
    return pd.concat(parts, ignore_index=True), ranges, storage.read_provenance(path)


def page() -> str:
    """Return the page of the stored table."""
    (lost,) = pages.read("index", "lost_recall")
    rows = [
        [row[0] or "vectors", *row[1:3], *("" if pd.isna(value) else f"{value + 0.0:.4f}" for value in row[3:])]
        for row in lost.round(4).itertuples(index=False)
    ]
    record = json.loads((pages.REFERENCE / "index" / "provenance.json").read_text())
    sizes = {"k": K, "lists": LISTS, "links": LINKS, "segment": SEGMENT}
    return pages.render(
        "index",
        command=COMMAND,
        table=pages.markdown([column.replace("_to_", " to ") for column in COLUMNS], rows),
        **sizes,
        **record,
    )


def main(results: str | Path = pages.RESULTS) -> None:
    import faiss

    lost, ranges, made_by = table(Path(results))
    pages.write(lost, pages.REFERENCE / "index" / "lost_recall.csv", digits="%.6f")
    versions = pages.listed({"faiss": faiss.__version__} | made_by["versions"])
    record = {"ranges": " and ".join(ranges), "versions": versions, "notes": made_by["notes"]}
    (pages.REFERENCE / "index" / "provenance.json").write_text(json.dumps(record, indent=2) + "\n")
    pages.store("index", page())


if __name__ == "__main__":
    main(*sys.argv[1:])

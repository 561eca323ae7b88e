"""Compare quantisers and hashers at equal bytes, on the vectors of one run."""

from protocol import registry
from protocol.evaluation import Nearest
from protocol.features import prepared
from protocol.provenance import storage
from protocol.quantisers import quantisation
from protocol.scores.tables import write_csv

COLUMNS = ("dataset", "feature", "split", "run", "quantiser", "bytes", "k", "share", "worst", "best", "first", "c")


def main(job):
    """Write the share of the K nearest items that each finds, for every split and K.

    ``first`` is 1-recall@K; re-ranking c x K items by the vectors is enough for 95 % of the nearest items.
    """
    p, wc, rows = job.params, job.wildcards, []
    neighbours = [
        variant["options"] for variant in p.ground_truths.values() if variant["plugin"] == "nearest_neighbours"
    ]
    numbers = sorted({options["n_neighbours"] for options in neighbours})
    feature = registry.get("feature", p.feature["plugin"])(**p.feature["options"])
    with prepared(feature, p.feature["steps"], job.input.features, job.input.preprocessing) as items:
        for split, path in zip(p.splits, job.input.splits, strict=True):
            parts = storage.read(path, ["query", "database", "train"])
            vectors = {name: items.vectors(name, images) for name, images in parts.items()}
            near = Nearest(vectors["query"], vectors["database"], numbers, "euclidean")
            options = {"quantisers": p.quantisers, "seed": p.seed, "train": vectors["train"], "metrics": "mAP"}
            for one in quantisation(near, **options).equal_bytes:
                key = (p.dataset, wc.feature, split, wc.run, one.name, one.n_bytes)
                for k, share in one.shares.items():
                    rows.append((*key, k, share.expected, share.worst, share.best, share.first, share.factor))
    write_csv(job.output.quantisers, COLUMNS, rows, checksum=True)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it

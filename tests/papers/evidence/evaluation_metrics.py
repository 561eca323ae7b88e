"""Evidence for and against the claims of *Evaluation metrics* (mAP@p, nDCG@p)."""

from evidence.case import Case

WHOLE = {"dataset": "nuswide", "feature": "bow", "mean": 0.2}
TOP = WHOLE | {"metric": "mAP@5000[retrieved]"}

CASES = {
    "X-04": Case(
        confirming=[WHOLE, TOP | {"mean": 0.3}, WHOLE | {"n_bits": 16}, TOP | {"mean": 0.21, "n_bits": 16}],
        refuting=[WHOLE, TOP | {"mean": 0.3}, WHOLE | {"n_bits": 16}, TOP | {"mean": 0.19, "n_bits": 16}],
    ),
}

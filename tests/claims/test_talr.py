"""Claims of *Hashing as Tie-Aware Learning to Rank*."""

from evidence import judged, rows_of

from protocol import claims
from protocol.claims import talr
from protocol.hashers.ranking.objectives import ap_s

BY_ID = {claim.id: claim for claim in claims.all_claims()}
PROVED, REFUTED, REPLICATED, NOT_REPLICATED, ON_SUBSTITUTE, NOT_ON_SUBSTITUTE, PARTLY, NOT_RUN = claims.STATUSES


def ties(widths, **more):
    for n_bits, width in widths.items():
        for metric, value in {
            "mAP": 0.2,
            "mAP[best]": 0.2 + width,
            "mAP[worst]": 0.2 - width,
            "mAP[index]": 0.2,
        }.items():
            yield {"n_bits": n_bits, "metric": metric, "mean": value} | more


def test_the_range_of_ties_is_judged_on_ten_runs(tmp_path):
    path = tmp_path / "s1" / "summary.csv"
    assert judged("S3-14", rows_of(path, ties({12: 0.1, 24: 0.05}))).status == REPLICATED
    assert judged("S3-14", rows_of(path, ties({12: 0.05, 24: 0.1}))).status == NOT_REPLICATED
    assert judged("S3-14", rows_of(path, ties({12: 0.1, 24: 0.05}, n_runs=1))).status == NOT_RUN
    off = [row | ({"mean": 0.202} if row["metric"] == "mAP[index]" else {}) for row in ties({12: 0.1, 24: 0.05})]
    assert judged("S3-14", rows_of(path, off)).status == NOT_REPLICATED


def test_learned_hashers_and_their_features_have_a_place(tmp_path):
    """A table of TALR-AP with VGG-F shows in table 1; a far value contradicts, shallow features are not compared."""
    cell = {"hasher": "talr_ap", "split": "cifar10_s1", "feature": "vgg_f"}
    lengths = dict(zip((12, 24, 32, 48), BY_ID["S3-20"].expected["alpha 40"], strict=True))
    rows = [cell | {"n_bits": n_bits, "mean": mean} for n_bits, mean in lengths.items()]
    verdict = judged("S3-20", rows_of(tmp_path / "reference" / "talr" / "talr.csv", rows))
    assert (verdict.status, list(verdict.evidence.by_reading["as printed"])) == (
        NOT_RUN,
        ["alpha 40"],
    )  # the other slope is missing
    far = [row | {"mean": row["mean"] - 0.1} for row in rows]
    for number in ("S3-20", "S3-15"):
        assert judged(number, rows_of(tmp_path / "x" / "summary.csv", far)).status == NOT_REPLICATED
    gist = [row | {"feature": "gist"} for row in far]
    assert judged("S3-20", rows_of(tmp_path / "x" / "summary.csv", gist)).status == NOT_RUN


def test_a_wrong_gradient_is_seen(monkeypatch):
    def wrong(gain, total, best):
        ranked = ap_s(gain, total, best)
        return ranked._replace(by_total=ranked.by_total / 2)

    monkeypatch.setattr(talr, "ap_s", wrong)
    for number in ("S3-10", "S3-12"):
        assert judged(number).status == NOT_REPLICATED

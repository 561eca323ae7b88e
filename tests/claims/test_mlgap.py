"""Claims of *Mean Local Group Average Precision*."""

import pytest
from evidence import judged, rows_of

from protocol import claims

PROVED, REFUTED, REPLICATED, NOT_REPLICATED, ON_SUBSTITUTE, NOT_ON_SUBSTITUTE, PARTLY, NOT_RUN = claims.STATUSES


def test_data_claims_follow_the_rows(tmp_path):
    path = tmp_path / "cifar10" / "summary.csv"
    assert judged("S0-08", rows_of(path, [{"mean": 0.15}, {"hasher": "itq", "mean": 0.19}])).status == REPLICATED
    assert judged("S0-08", rows_of(path, [{"mean": 0.15}, {"hasher": "itq", "mean": 0.21}])).status == NOT_REPLICATED
    for other in ({"n_bits": 16}, {"dataset": "digits"}, {"ground_truth": "epsilon_ball"}, {"hasher": "talr_ap"}):
        table = rows_of(path, [{"mean": 0.15}, {"mean": 0.9} | other])
        assert judged("S0-08", table).status == REPLICATED, other


@pytest.mark.parametrize(
    ("map_new", "mlgap_new", "status"), [(0.3, 0.3, NOT_RUN), (0.3, 0.1, NOT_REPLICATED), (0.7, 0.3, NOT_REPLICATED)]
)
def test_the_buffer_zone_is_contradicted_or_waits_for_the_other_data_set(tmp_path, map_new, mlgap_new, status):
    means = {"deep_supervised": (0.6, 0.2), "buffer_zone": (map_new, mlgap_new)}
    rows = [
        {"hasher": hasher, "split": "cifar10_s2", "n_bits": n_bits, "metric": metric, "mean": mean}
        for hasher, (of_map, of_mlgap) in means.items()
        for n_bits in (12, 24)
        for metric, mean in {"mAP": of_map, **{f"mLGAP@r{r}": of_mlgap for r in range(3)}}.items()
    ]
    table = rows_of(tmp_path / "summary.csv", rows)
    verdict = judged("S0-12", table)
    assert verdict.status == status
    assert len(verdict.evidence.by_reading) == 3
    assert judged("S0-10", table).status == NOT_RUN
    assert judged("S0-10", table).ours

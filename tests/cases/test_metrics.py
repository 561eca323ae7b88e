"""The metrics that papers report and that were missing."""

import numpy as np
import pytest

import protocol as hp


def scored(metrics, **options):
    query, database, *labels = (np.load(f"{name}.npy") for name in ("q", "d", "ql", "dl"))
    found = hp.evaluate(query, database, query_labels=labels[0], database_labels=labels[1], metrics=metrics, **options)
    return {name: np.nanmean(values) for name, values in found.per_query.items()}


@pytest.mark.case("16-missing-metrics")
def test_the_missing_metrics_with_ties_in_database_order(case):
    right = {
        "MRR[database-order]": 0.883955,
        "R-precision[database-order]": 0.587300,
        "mAP@R[database-order]": 0.459520,
        "hit@10[database-order]": 1.0,
    }
    assert scored(list(right)) == pytest.approx(right, abs=5e-7)


@pytest.mark.case("06-map-within-a-hamming-radius")
def test_map_within_a_hamming_radius(case):
    assert scored(["mAP@r2[database-order]", "mAP@r2"]) == pytest.approx(
        {"mAP@r2[database-order]": 0.822053, "mAP@r2": 0.838097}, abs=5e-7
    )
    left_out = scored(["mAP@r2[database-order]"], convention="mihash")
    assert left_out["mAP@r2[database-order]"] == pytest.approx(0.835986, abs=5e-7)

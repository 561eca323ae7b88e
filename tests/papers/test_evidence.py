"""Claims about data, judged on the rows of `evidence.yaml`."""

import pytest
from evidence import EVIDENCE, cases, judged, rows_of

from protocol import papers
from protocol.papers.comparisons import AS_PRINTED


@pytest.mark.parametrize(("number", "confirming", "refuting"), list(cases()), ids=lambda value: str(value)[:10])
def test_a_claim_about_data_can_be_decided_both_ways(tmp_path, number, confirming, refuting):
    assert judged(tmp_path / "for", number, confirming).status.startswith("replicated")
    assert judged(tmp_path / "against", number, refuting).status.startswith("not replicated")


def test_every_claim_about_data_has_such_rows():
    assert {number for number, *_ in cases()} == {claim.id for claim in papers.all_claims() if not claim.test}


@pytest.mark.parametrize("expected", EVIDENCE["verdicts"], ids=lambda case: case["claim"])
def test_the_verdict_on_rows(tmp_path, expected):
    verdict = judged(tmp_path, expected["claim"], rows_of(expected["rows"]))
    by_reading = verdict.by_reading
    parts = {"holds": verdict.named(True), "fails": verdict.named(False), "none": verdict.named(None)}
    actual = {
        **{key: len(names) if isinstance(expected.get(key), int) else names for key, names in parts.items()},
        **{key: getattr(verdict, key) for key in ("status", "reading", "summary")},
        "substitute": verdict.substitute,
        "readings": len(by_reading),
        "shown": {name: by_reading.get(AS_PRINTED, {}).get(name) for name in expected.get("shown", ())},
    }
    assert {key: actual[key] for key in expected if key not in ("claim", "rows")} == {
        key: pytest.approx(value) if key == "shown" and isinstance(next(iter(value.values())), float) else value
        for key, value in expected.items()
        if key not in ("claim", "rows")
    }


def test_methods_are_compared_within_a_table(tmp_path):
    rows = rows_of(EVIDENCE["decided"]["X-10"]["confirming"])
    other = [row | {"mean": row["mean"] + 0.3, "n_runs": 1} for row in rows]
    assert judged(tmp_path, "X-10", rows, other).status == "replicated on a substitute"

"""Every claim is judged by computing it; here is what must come out, and that a wrong metric would be seen."""

import csv
import importlib.util
import json
import re
from types import SimpleNamespace

import pytest

from protocol import checks, claims, registry, storage
from protocol.claims import _claim, ramap, render, talr
from protocol.claims._results import CELL
from protocol.hashers.ranking.objectives import ap_s

REPRODUCED, UNDER_CONVENTION, CONTRADICTED, NOT_RUN = claims.STATUSES
SUMMARY = [*CELL, "mean", "std", "n_runs"]

WITHOUT_DATA = {
    REPRODUCED: "S0-01 S0-02 S0-03 S0-04 S0-05 S0-07 X-01 S1-01 S1-02 S1-03 S2-01 S2-03-LSH S2-03-LSH_SEs1 "
    "S2-03-LSH_SEs8 S2-06 S2-07 S3-01 S3-02 S3-03 S3-04 S3-07 S3-08 S3-09 S3-10 S3-11 S3-12 S3-13 S3-19 S3-22 S4-04 "
    "S4-07 S4-09 S4-10 S4-13",
    UNDER_CONVENTION: "S0-06 S2-03-LSH_DEs1 S2-05 S4-02 S4-08",
    CONTRADICTED: "S3-05 S3-06 S4-03 S4-05 S4-06",
    NOT_RUN: "S0-08 S0-09 S0-10 S0-11 S0-12 S0-13 S0-14 S0-15 S2-02 S2-04 S2-08 S2-09 S3-14 S3-15 S3-16 S3-17 S3-18 "
    "S3-20 S3-21 S4-01 S4-11 S4-12",
}
WITH_KEPT_TABLES = {
    "S0-08": REPRODUCED,
    "S0-09": REPRODUCED,
    "S0-12": CONTRADICTED,
    "S2-09": CONTRADICTED,
    "S3-14": REPRODUCED,
}
BY_ID = {claim.id: claim for claim in claims.all_claims()}


@pytest.fixture(scope="module")
def without_data():
    return {entry["id"]: entry for entry in claims.judge(claims.Results())}


@pytest.fixture(scope="module")
def kept_tables(root):
    return sorted((root / "results" / "reference").glob("*/*.csv"))


@pytest.fixture(scope="module")
def with_kept_tables(kept_tables):
    return {entry["id"]: entry for entry in claims.judge(claims.Results(kept_tables))}


def rows_of(path, rows):
    """Write a summary table; a row is the columns that differ from those of LSH on CIFAR-10."""
    usual = dict(
        zip(
            SUMMARY,
            ["cifar10", "gist", "class_label", "standard", "lsh", 12, "none", 0, "mAP", 0.1, 0.01, 10],
            strict=True,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, SUMMARY)
        writer.writeheader()
        writer.writerows(usual | row for row in rows)
    return path


def judged(number, *tables):
    return BY_ID[number].judge(claims.Results(tables))


@pytest.mark.parametrize(
    ("number", "status"), [(number, status) for status, numbers in WITHOUT_DATA.items() for number in numbers.split()]
)
def test_status_without_data(without_data, number, status):
    assert without_data[number]["status"] == status, without_data[number]


def test_the_lists_above_hold_every_claim(without_data):
    assert sorted(without_data) == sorted(number for numbers in WITHOUT_DATA.values() for number in numbers.split())


def test_what_the_kept_tables_decide(with_kept_tables, without_data):
    entries = with_kept_tables
    changed = {n: entry["status"] for n, entry in entries.items() if entry["status"] != without_data[n]["status"]}
    assert changed == WITH_KEPT_TABLES
    assert "of: dsh, cifar10_s2 split" in entries["S0-08"]["ours"]
    assert "pairs of rows compared: 384" in entries["S2-02"]["ours"]
    assert "Wiki pairs: 2866" in entries["S4-11"]["ours"]


def test_every_claim_says_how_it_is_checked_or_what_it_needs(without_data):
    for number, entry in without_data.items():
        assert list(entry) == list(claims.FIELDS)
        assert all(isinstance(value, str) for value in entry.values())
        assert entry["place"]
        assert entry["claim"].endswith("."), number
        if entry["status"] == NOT_RUN:
            assert "Needs: " in entry["note"], number
        else:
            assert entry["note"].startswith("How: "), number
            assert entry["expected"], number
            assert entry["ours"], number


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("S4-03", ["micro F1: 0.666667", "0.6 and 0.75"]),
        ("S4-06", ["AUPRC: 0.833333", "AUPRC: 0.791667", "two queries, one relevant item each"]),
        ("S4-05", ["as printed: AUPRC of the ideal ranking: 0", "Holds with: trapezoids from recall 0 on"]),
        ("S3-05", ["two items tied first, one relevant: inf", "Holds with: with limits half an item farther"]),
        ("S3-06", ["two items tied first, one relevant: inf"]),
        ("S0-06", ["used: 0.5 | no condition: used: 1", "Smallest example against it: 3 bits", "E0-05"]),
    ],
)
def test_contradictions_are_written_up_with_the_smallest_example(without_data, number, words):
    text = claims.full(without_data[number], width=4000)
    for word in words:
        assert word in text


WRONG = [
    ("mLGAP@rR", ["S0-01", "X-01"]),
    ("RAMAP@rR", ["S2-03-LSH", "S2-03-LSH_SEs8"]),
    ("mAP", ["S3-02", "S3-08"]),
    ("mAP[worst]", ["S0-04", "S0-06"]),
    ("mAP@K[all]", ["S3-03"]),
    ("mAP@K[retrieved]", ["S0-05", "S1-02"]),
    ("nDCG", ["S1-03", "S3-19"]),
    ("nDCG@K", ["S3-04"]),
    ("lookups@rR", ["S0-01", "S2-01"]),
    ("precision@rR", ["S2-06", "S4-04"]),
    ("recall@rR", ["S2-06"]),
    ("precision_micro@rR", ["S4-13"]),
    ("F_beta@rR", ["S4-04"]),
]


@pytest.mark.parametrize(("metric", "numbers"), WRONG, ids=[metric for metric, _ in WRONG])
def test_a_wrong_metric_is_seen(monkeypatch, metric, numbers):
    right = registry.entry("metric", metric)

    def wrong(counts, **options):
        return right.plugin(counts, **options) * 1.001 + 0.002

    entry = right.describing(wrong, right.module)
    monkeypatch.setitem(registry._records, ("metric", metric), entry)
    registry._find.cache_clear()
    try:
        for number in numbers:
            assert BY_ID[number].judge(claims.Results()).status == CONTRADICTED, number
    finally:
        registry._find.cache_clear()


def test_a_contradicted_claim_would_be_reproduced_by_a_metric_that_says_so(monkeypatch):
    right = registry.entry("metric", "F1_micro@rR")
    entry = right.describing(lambda *_, **__: [0.78], right.module)
    monkeypatch.setitem(registry._records, ("metric", right.name), entry)
    registry._find.cache_clear()
    try:
        assert BY_ID["S4-03"].judge(claims.Results()).status == REPRODUCED
    finally:
        registry._find.cache_clear()


def test_what_a_check_raises_goes_through():
    def check(results):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _claim.Claim("1", "paper", "place", "A claim.", {"a": 1}, check).judge(claims.Results())


@pytest.mark.parametrize(
    ("ours", "status"),
    [
        ({"a": 1.0, "b": [1, 2]}, REPRODUCED),
        ({"a": 1.05, "b": [1, 2]}, REPRODUCED),
        ({"a": 1.2, "b": [1, 2]}, CONTRADICTED),
        ({"a": float("nan"), "b": [1, 2]}, CONTRADICTED),
        ({"a": 1.0, "b": [1, 2, 3]}, CONTRADICTED),
        ({"a": 1.0}, NOT_RUN),
        ({"a": 1.2}, CONTRADICTED),
        ({}, NOT_RUN),
        (_claim.Readings({"first": {"a": 1, "b": [1, 2]}, "second": {"a": 9, "b": [1, 2]}}), UNDER_CONVENTION),
        (_claim.Readings({"first": {"a": 8, "b": [1, 2]}, "second": {"a": 9, "b": [1, 2]}}), CONTRADICTED),
        (_claim.Readings({_claim.AS_PRINTED: {"a": 8, "b": [1, 2]}, "x": {"a": 1, "b": [1, 2]}}), CONTRADICTED),
        (_claim.Readings({_claim.AS_PRINTED: {"a": 1, "b": [1, 2]}, "x": {"a": 9, "b": [1, 2]}}), REPRODUCED),
    ],
)
def test_the_status_follows_from_ours_and_what_is_expected(ours, status):
    claim = _claim.Claim("1", "p", "q", "A.", {"a": 1, "b": [1, 2]}, lambda _: ours, within={"a": 0.1}, needs="more")
    verdict = claim.judge(claims.Results())
    assert verdict.status == status
    assert (verdict.needs == "more") == (status == NOT_RUN)


@pytest.mark.parametrize(
    ("relation", "ours", "holds"), [("<", 1, False), ("<=", 1, True), ("<=", 2, False), ("<", 0, True)]
)
def test_a_bound(relation, ours, holds):
    claim = _claim.Claim("1", "p", "q", "A.", {"a": 1}, lambda _: {"a": ours}, relation=relation)
    assert claim.judge(claims.Results()).status == (REPRODUCED if holds else CONTRADICTED)


def test_data_claims_follow_the_rows(tmp_path):
    path = tmp_path / "cifar10" / "summary.csv"
    assert judged("S0-08", rows_of(path, [{"mean": 0.15}, {"hasher": "itq", "mean": 0.19}])).status == REPRODUCED
    assert judged("S0-08", rows_of(path, [{"mean": 0.15}, {"hasher": "itq", "mean": 0.21}])).status == CONTRADICTED
    for other in ({"n_bits": 16}, {"dataset": "digits"}, {"ground_truth": "epsilon_ball"}, {"hasher": "talr_ap"}):
        table = rows_of(path, [{"mean": 0.15}, {"mean": 0.9} | other])
        assert judged("S0-08", table).status == REPRODUCED, other


def test_rows_of_extension_codes_can_contradict(tmp_path):
    path = tmp_path / "digits" / "summary.csv"
    same = {"extension": "same", "extension_bits": 8, "metric": "RAMAP@r1"}
    different = same | {"extension": "different"}
    plain = {"metric": "RAMAP@r1", "mean": 0.3}
    right = [plain, same | {"mean": 0.2}, different | {"mean": 0.1}]
    verdict = judged("S2-07", rows_of(path, right))
    assert (verdict.status, verdict.ours["as printed"]["rows compared"]) == (REPRODUCED, 2)
    wrong = [plain, same | {"mean": 0.31}, different | {"mean": 0.1}]
    assert judged("S2-07", rows_of(path, wrong)).status == CONTRADICTED
    moved = [{"mean": 0.3}, {"extension": "different", "extension_bits": 1, "mean": 0.32}]
    assert judged("S2-02", rows_of(path, moved)).status == CONTRADICTED


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
    assert judged("S3-14", rows_of(path, ties({12: 0.1, 24: 0.05}))).status == REPRODUCED
    assert judged("S3-14", rows_of(path, ties({12: 0.05, 24: 0.1}))).status == CONTRADICTED
    assert judged("S3-14", rows_of(path, ties({12: 0.1, 24: 0.05}, n_runs=1))).status == NOT_RUN
    off = [row | ({"mean": 0.202} if row["metric"] == "mAP[index]" else {}) for row in ties({12: 0.1, 24: 0.05})]
    assert judged("S3-14", rows_of(path, off)).status == CONTRADICTED


def test_learned_hashers_and_their_features_have_a_place(tmp_path):
    """A table of TALR-AP with VGG-F shows in table 1; a far value contradicts, shallow features are not compared."""
    cell = {"hasher": "talr_ap", "split": "cifar10_s1", "feature": "vgg_f"}
    lengths = dict(zip((12, 24, 32, 48), BY_ID["S3-20"].expected["alpha 40"], strict=True))
    rows = [cell | {"n_bits": n_bits, "mean": mean} for n_bits, mean in lengths.items()]
    verdict = judged("S3-20", rows_of(tmp_path / "reference" / "talr" / "talr.csv", rows))
    assert (verdict.status, list(verdict.ours["as printed"])) == (NOT_RUN, ["alpha 40"])  # the other slope is missing
    far = [row | {"mean": row["mean"] - 0.1} for row in rows]
    for number in ("S3-20", "S3-15"):
        assert judged(number, rows_of(tmp_path / "x" / "summary.csv", far)).status == CONTRADICTED
    gist = [row | {"feature": "gist"} for row in far]
    assert judged("S3-20", rows_of(tmp_path / "x" / "summary.csv", gist)).status == NOT_RUN


def test_alexnet_rows_decide_the_tables_of_ramap(tmp_path):
    cell = {"feature": "alexnet", "split": "cifar10_s1", "n_bits": 8}
    expected = BY_ID["S2-02"].expected
    rows = [
        cell | {"metric": f"mAP@{n}[retrieved]", "mean": m} for n, m in zip(expected["n"], expected["MAP"], strict=True)
    ]
    assert judged("S2-02", rows_of(tmp_path / "a" / "summary.csv", rows)).status == REPRODUCED
    rows[0]["mean"] += 0.02
    assert judged("S2-02", rows_of(tmp_path / "a" / "summary.csv", rows)).status == CONTRADICTED


def test_the_same_ledger_twice_is_the_same(root, tmp_path, without_data):
    again = claims.judge(claims.Results())
    assert again == list(without_data.values())
    claims.write_json(tmp_path / "a.json", again)
    claims.write_json(tmp_path / "b.json", list(without_data.values()))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == again


def test_a_missing_folder_is_one_clear_error(tmp_path):
    with pytest.raises(checks.ProtocolError, match="no such folder of results") as error:
        claims.ledger(tmp_path / "none")
    assert "\n" not in str(error.value)


def test_an_empty_folder_is_no_error(tmp_path, without_data):
    assert claims.ledger(tmp_path) == list(without_data.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "got an empty file"),
        ("a,b\n1,2\n", "expected the columns of a summary"),
        (",".join(SUMMARY) + "\ncifar10,gist,c,s,lsh,twelve,none,0,mAP,0.1,,10\n", "line 2: expected numbers"),
        (",".join(SUMMARY) + "\ncifar10,gist,c\n", "line 2: expected numbers"),
        ("\xff\xfe", "can't be read as a table"),
    ],
)
def test_a_broken_summary_is_one_clear_error(tmp_path, content, message):
    path = tmp_path / "digits" / "summary.csv"
    path.parent.mkdir()
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(checks.ProtocolError, match=message) as error:
        claims.ledger(tmp_path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_mean_that_is_undefined_is_no_row(tmp_path):
    table = rows_of(tmp_path / "a" / "summary.csv", [{"mean": ""}, {"hasher": "itq", "mean": 0.1}])
    assert [row.hasher for row in claims.Results([table]).rows()] == ["itq"]


def test_the_folder_of_one_setting_will_do(tmp_path):
    rows_of(tmp_path / "cifar10" / "summary.csv", [{"mean": 0.15}])
    for folder in (tmp_path, tmp_path / "cifar10"):
        (entry,) = claims.ledger(folder, ["S0-08"])
        assert entry["status"] == REPRODUCED


def test_tables_of_other_kinds_are_left_out(tmp_path):
    other = tmp_path / "reference" / "leak" / "leak.csv"
    other.parent.mkdir(parents=True)
    other.write_text("a,b\n1,2\n")
    assert claims.Results.in_folder(tmp_path).rows() == []


def test_a_cell_in_two_tables_counts_once(tmp_path):
    first = rows_of(tmp_path / "a" / "summary.csv", [{"mean": 0.123456789}])
    second = rows_of(tmp_path / "reference" / "b" / "summary.csv", [{"mean": 0.123457}])
    third = rows_of(tmp_path / "c" / "summary.csv", [{"mean": 0.2}])
    assert [row.mean for row in claims.Results([first, second, third]).rows(metric="mAP")] == [0.123456789, 0.2]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_the_width(without_data, width):
    entries = list(without_data.values())
    for text in (claims.table(entries, width=width), *(claims.full(entry, width=width) for entry in entries)):
        assert max(map(len, text.splitlines())) <= width


def test_the_table_has_every_claim_once_and_the_totals(without_data):
    entries = list(without_data.values())
    text = claims.table(entries, width=100)
    for number in without_data:
        assert sum(line.strip().split("  ")[0] == number for line in text.splitlines()) == 1
    assert (
        f"{len(entries)} claims: 34 reproduced, 5 reproduced under a stated convention, 5 contradicted, 22 not run"
        in (" ".join(text.split()))
    )
    assert sum(render.totals(entries).values()) == len(entries)


def test_nothing_chosen_is_said():
    assert claims.table([]) == "no claims"


def test_ramap_ours_would_leave_the_interval(monkeypatch):
    """A precision of 0.1671 in the place of 0.1651 is beyond what rounding explains."""
    monkeypatch.setattr(ramap, "_PRECISIONS", (1896, 1671, 1433, 1261))
    assert BY_ID["S2-03-LSH"].judge(claims.Results()).status == CONTRADICTED


def test_the_folder_of_results_has_the_kept_tables(root, with_kept_tables):
    assert claims.ledger(root / "results", ["S0-14", "S4-11"]) == [with_kept_tables[n] for n in ("S0-14", "S4-11")]


def test_the_readme_has_the_totals_and_the_contradictions(root, with_kept_tables):
    (tables,) = re.findall(r"<!-- claims -->\n(.*?)\n<!-- end -->", (root / "README.md").read_text(), re.S)
    made = claims.markdown(list(with_kept_tables.values()))
    assert tables == made, "print them again with: protocol claims --markdown"


def test_the_pipeline_writes_the_same(root, tmp_path, kept_tables, with_kept_tables):
    spec = importlib.util.spec_from_file_location("claims_script", root / "workflow" / "scripts" / "claims.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    own = rows_of(tmp_path / "digits" / "summary.csv", [{"dataset": "digits"}])
    content = own.read_text()
    with storage.replacing(own, checksum=True) as path:
        path.write_text(content)
    files = SimpleNamespace(summary=own, reference=kept_tables)
    script.main(SimpleNamespace(input=files, output=SimpleNamespace(claims=tmp_path / "claims.json")))
    assert json.loads((tmp_path / "claims.json").read_text()) == list(with_kept_tables.values())


MARGINS = {"deep_squared": 0, "m_dsh_4": 4, "m_dsh_8": 8, "m_dsh_12": 12}


def of_margins(**changed):
    """Return rows that show all that the paper says of margins, but for the means that are changed, by metric."""
    rows = []
    for place, (hasher, margin) in enumerate(MARGINS.items()):
        means = {"mAP": 0.5}
        for r in (0, 1, 2, 3, 4, 8, 12):
            means |= {f"RAMAP@r{r}": 0.4 - 0.1 * place, f"empty@r{r}": 0.1 * place}
            means[f"precision@r{r}"] = 0.3 + 0.05 * (r >= 3) if margin else 0.32
        rows += [
            {"hasher": hasher, "metric": metric, "mean": changed.get(metric, {}).get(hasher, mean), "n_bits": n_bits}
            for metric, mean in means.items()
            for n_bits in (48, 64)
        ]
    return [row | {"split": "cifar10_s1"} for row in rows]


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, UNDER_CONVENTION),
        ({"mAP": {"m_dsh_12": 0.4}}, CONTRADICTED),
        ({"RAMAP@r2": {"m_dsh_8": 0.35}}, CONTRADICTED),
        ({"empty@r4": {"m_dsh_12": 0.15}}, CONTRADICTED),
        ({"precision@r3": {"m_dsh_4": 0.31}}, CONTRADICTED),
        ({"precision@r1": {"m_dsh_4": 0.33}}, CONTRADICTED),
        ({"precision@r12": {"m_dsh_12": 0.31}}, CONTRADICTED),
    ],
)
def test_every_part_of_what_margins_do_decides(tmp_path, changed, status):
    assert judged("S2-09", rows_of(tmp_path / "summary.csv", of_margins(**changed))).status == status


def test_a_margin_that_is_never_above_from_some_radius_on_is_told(tmp_path):
    never = of_margins(**{"precision@r12": {"m_dsh_4": 0.31}})
    (told,) = claims.judge(claims.Results([rows_of(tmp_path / "summary.csv", never)]), ["S2-09"])
    assert told["ours"].endswith("from which on margin 4 is above, by length: none none")


def test_margins_are_not_judged_without_every_radius(tmp_path):
    rows = [row for row in of_margins() if row["metric"] != "RAMAP@r8"]
    assert judged("S2-09", rows_of(tmp_path / "summary.csv", rows)).status == NOT_RUN


@pytest.mark.parametrize(
    ("map_new", "mlgap_new", "status"), [(0.3, 0.3, NOT_RUN), (0.3, 0.1, CONTRADICTED), (0.7, 0.3, CONTRADICTED)]
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
    assert len(verdict.ours) == 3
    assert judged("S0-10", table).status == NOT_RUN
    assert judged("S0-10", table).ours


def test_a_wrong_gradient_is_seen(monkeypatch):
    def wrong(gain, total, best):
        ranked = ap_s(gain, total, best)
        return ranked._replace(by_total=ranked.by_total / 2)

    monkeypatch.setattr(talr, "ap_s", wrong)
    for number in ("S3-10", "S3-12"):
        assert judged(number).status == CONTRADICTED

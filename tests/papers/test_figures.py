"""The papers' figures and tables, on small made tables: what is there is drawn, what is not is named."""

import re
from pathlib import Path

import pandas as pd
import pytest
from evidence import write_summary

from protocol.papers import printed
from protocol.papers.figure_data import COLUMNS, _named
from protocol.papers.figures import DRAWINGS, FigureData
from protocol.report import table_files
from protocol.report.manuscript.files import printed_pictures

RESULTS = Path(__file__).parents[2] / "results"
PLACE = {"experiment": "made", "dataset": "cifar10", "feature": "gist", "ground_truth": "class_label", "split": "s"}


def made(**rows):
    """Return data with these rows, each a mapping over the place; a table without rows is empty."""
    usual = PLACE | {"n_runs": 2, "std": 0.01}
    tables = {kind: pd.DataFrame([usual | row for row in rows.get(kind, ())]) for kind in COLUMNS}
    return FigureData(
        **{
            kind: _named(table, kind) if len(table) else pd.DataFrame(columns=[*COLUMNS[kind]])
            for kind, table in tables.items()
        }
    )


def scores(hasher, n_bits, metrics, **place):
    return [
        place | {"hasher": hasher, "n_bits": n_bits, "metric": name, "mean": mean} for name, mean in metrics.items()
    ]


RAMAP = {"mAP": 0.4, "RAMAP@r0": 0.3, "RAMAP@r2": 0.1, "precision@r0": 0.3, "precision@r2": 0.35}
OBJECTIVES = ("deep_supervised", "buffer_zone")


@pytest.mark.parametrize("name", DRAWINGS)
def test_without_results_nothing_is_drawn_and_what_is_missing_is_said(name):
    drawn = DRAWINGS[name](made())
    assert not drawn.figures
    assert not drawn.tables
    assert drawn.missing


@pytest.mark.parametrize(("name", "other"), [("ramap_figure_4", "mAP"), ("ramap_figure_6", "precision")])
def test_ramap_by_radius(name, other):
    rows = [row for hasher in ("m_dsh_12", "deep_squared", "m_dsh_4", "itq") for row in scores(hasher, 48, RAMAP)]
    drawn = DRAWINGS[name](made(summary=rows))
    (figure,) = drawn.figures
    assert figure.name == f"{name.replace('_', '-')}-made-cifar10-gist-class-label-s-48"
    assert list(dict.fromkeys(figure.data["method"])) == ["DSH", "4-DSH", "12-DSH"]
    assert set(figure.data["quantity"]) == {"RAMAP", other}
    expected = {"RAMAP": [0.3, 0.1], "mAP": [0.4, 0.4], "precision": [0.3, 0.35]}
    for quantity, own in figure.data[figure.data["method"] == "DSH"].groupby("quantity"):
        assert own["radius"].tolist() == [0, 2]
        assert own["value"].tolist() == expected[quantity]
    assert "gist in place of alexnet" in figure.shows
    assert "at 64 bits" in drawn.missing


def test_ramap_of_extended_codes_comes_from_the_curves_where_the_summary_has_none():
    codes = [("none", 0), ("same", 1), ("different", 1)]
    rows = [
        {"hasher": "lsh", "n_bits": 8, "extension": extension, "extension_bits": s}
        | {"metric": metric, "radius": radius, "value": 0.5 / (radius + 1), "n_runs": 2}
        for extension, s in codes
        for metric in ("RAMAP", "precision")
        for radius in range(3)
    ]
    (figure,) = DRAWINGS["ramap_figure_6"](made(radii=rows)).figures
    assert list(dict.fromkeys(figure.data["method"])) == ["LSH", "LSH SE s=1", "LSH DE s=1"]
    assert len(figure.data) == len(rows)
    widths = figure.data.drop_duplicates("method")["width"].tolist()
    assert widths[0] > widths[1] > widths[2]  # lines that coincide stay visible
    assert not DRAWINGS["ramap_figure_4"](made(radii=rows)).figures  # without mAP


def test_ramap_figure_5_is_the_share_of_queries_with_empty_bins():
    rows = [
        row
        for hasher, share in (("m_dsh_4", 0.75), ("deep_squared", 0.5))
        for row in scores(hasher, 48, {"empty@r0": share, "empty@r2": share / 2, "RAMAP@r0": 0.3})
    ]
    drawn = DRAWINGS["ramap_figure_5"](made(summary=rows))
    (figure,) = drawn.figures
    found = {method: own["value"].tolist() for method, own in figure.data.groupby("method", sort=False)}
    assert found == {"DSH": [0.5, 0.25], "4-DSH": [0.75, 0.375]}
    assert figure.shows.startswith("share of the queries with empty bins at R = 2 is 0.2500 (DSH) to 0.3750 (4-DSH)")
    assert drawn.missing.startswith("empty at several radii of DSH and m-DSH at 64 bits on cifar10")


def test_ramap_figure_7_draws_the_measured_times_of_an_experiment_and_the_stored_ones(tmp_path):
    cells = [(hasher, radius) for hasher in ("deep_squared", "m_dsh_8") for radius in range(3)]
    rows = "".join(f"{hasher},48,{radius},{10**radius},{0.01 * 10**radius:g}\n" for hasher, radius in cells)
    display = tmp_path / "mine" / "gist" / "display" / "s"
    display.mkdir(parents=True)
    (display / "lookups.csv").write_text("hasher,n_bits,radius,codes,milliseconds\n" + rows)
    write_summary(tmp_path / "mine" / "summary.csv", [{}])
    own, *stored = DRAWINGS["ramap_figure_7"](FigureData.in_folder(tmp_path)).figures
    assert own.name == "ramap-figure-7-mine-cifar10-gist-s-48"
    assert own.data[own.data["method"] == "8-DSH"]["value"].tolist() == [0.01, 0.1, 1]
    assert own.spec["spec"]["layer"][0]["encoding"]["y"]["scale"] == {"type": "log"}
    assert "Times depend on the machine; they are those of run 0" in own.shows
    assert not stored
    drawn = DRAWINGS["ramap_figure_7"](FigureData.in_folder(RESULTS))
    assert len(drawn.figures) == 4  # two features, two code lengths
    assert drawn.missing == ""


def test_mlgap_table_1_has_ours_next_to_the_printed_values():
    rows = scores("deep_supervised", 12, {"mAP": 0.5661, "mLGAP@r2": 0.2123})
    rows += scores("buffer_zone", 12, {"mAP": 0.5217, "mLGAP@r2": 0.2162})
    drawn = DRAWINGS["mlgap_table_1"](made(summary=rows))
    (own,) = drawn.tables
    assert own.name == "mlgap-table-1-r2"
    assert [row[:5] for row in own.rows] == [
        ["eq. 16", "printed", "0.2633", "0.6012", "0.2889"],
        ["eq. 16", "made: gist, s", "0.2123", "0.5661", "\N{EN DASH}"],
        ["eq. 20 & 25", "printed", "0.2796", "0.3008", "0.3461"],
        ["eq. 20 & 25", "made: gist, s", "0.2162", "0.5217", "\N{EN DASH}"],
    ]
    assert own.flat_header[2:4] == ["CIFAR-10 12 bits mLGAP", "CIFAR-10 12 bits mAP"]
    assert "buffer_zone on cifar10 at 24 bits" in drawn.missing
    text = table_files(drawn.tables)["mlgap-table-1-r2.tex"].decode()
    assert r" &  & \multicolumn{4}{c}{CIFAR-10} & \multicolumn{4}{c}{CIFAR-100} \\" in text
    assert r"eq. 20 \& 25 & made: gist, s & 0.2162 & 0.5217" in text


def test_mlgap_table_1_names_variants_and_splits_that_are_told_apart():
    rows = [
        row for split in ("a", "b") for row in scores("buffer_zone_l1", 12, {"mAP": 0.5, "mLGAP@r0": 0.2}, split=split)
    ]
    (own,) = DRAWINGS["mlgap_table_1"](made(summary=rows)).tables
    assert [row[1] for row in own.rows] == ["printed", "printed", "made: gist, l1, a", "made: gist, l1, b"]


def test_mlgap_figure_8_counts_the_codes_in_use():
    rows = [
        {"hasher": hasher, "n_bits": 12, "code": code, "items": items}
        for hasher, codes in zip(OBJECTIVES, ({0: 8}, {0: 4, 7: 2, 4095: 2}), strict=True)
        for code, items in codes.items()
    ]
    (figure,) = DRAWINGS["mlgap_figure_8"](made(histogram=rows)).figures
    panels = list(dict.fromkeys(figure.data["panel"]))
    assert panels == ["original objective: 1 of 4,096 codes (0.0%)", "buffer zones: 3 of 4,096 codes (0.1%)"]
    assert figure.data["items"].tolist() == [8, 4, 2, 2]
    assert not DRAWINGS["mlgap_figure_8"](made(histogram=rows[:1])).figures  # of one objective alone


def test_mlgap_figure_1_has_a_panel_for_each_hasher_in_the_order_of_the_paper():
    rows = [{"hasher": name, "n_bits": 12, "code": 5, "items": 8} for name in ("sph", "lsh", "itq", "deep_supervised")]
    drawn = DRAWINGS["mlgap_figure_1"](made(histogram=rows))
    (figure,) = drawn.figures
    assert figure.data["objective"].tolist() == ["ITQ", "LSH", "SpH"]
    assert figure.spec["columns"] == 4
    assert drawn.missing.startswith("codes of 12 bits of dsh, pca_rr, pcah, sh and sklsh on cifar10")


def test_talr_table_1_keeps_the_layout_and_marks_the_best_of_each_source():
    place = {"split": "cifar10_s1"}
    rows = scores("talr_ap", 12, {"mAP": 0.31}, **place) + scores("itq", 12, {"mAP": 0.16}, **place)
    rows += scores("dpsh", 24, {"mAP": 0.2}, **place) + scores("talr_ap", 64, {"mAP": 0.9}, **place)
    rows += scores("lsh", 12, {"mAP": 0.12}, **place, experiment="without a method of the paper")
    drawn = DRAWINGS["talr_table_1"](made(summary=rows))
    (own,) = drawn.tables
    assert own.groups == [[("", 2), ("CIFAR-10, S1 (AP)", 4)]]
    assert list(own.header) == ["method", "source", "12 bits", "24 bits", "32 bits", "48 bits"]
    by_source = {(method, source): values for method, source, *values in own.rows}
    dash = "\N{EN DASH}"
    assert by_source["TALR-AP", "made: gist"] == ["0.310", dash, dash, dash]
    assert by_source["TALR-AP", "printed"] == ["0.732", "0.789", "0.800", "0.826"]
    assert [row[:2] for row in own.rows[:2]] == [["ITQ", "made: gist"], ["BRE", "printed"]]
    best = {(tuple(own.rows[down][:2]), across) for down, across in own.strong}
    printed_best = {(("TALR-AP", "printed"), column) for column in (2, 3, 4, 5)}
    assert best == {(("TALR-AP", "made: gist"), 2), *printed_best}
    assert "NUS-WIDE (AP) (nuswide, nuswide_21), CIFAR-10, S2" in drawn.missing
    assert "cifar10_s1" not in drawn.missing


def test_talr_table_2_of_other_data_is_called_a_substitute():
    rows = scores("talr_ap", 16, {"mAP@1000[retrieved]": 0.5, "mAP@1000[all]": 0.1}, split="standard", dataset="digits")
    drawn = DRAWINGS["talr_table_2"](made(summary=rows))
    (own,) = drawn.tables
    assert own.rows == [["TALR-AP", "made: gist", "0.5000"]]
    assert "A substitute: digits in place of the paper's data. Metric: mAP@1000[retrieved]." in own.caption
    assert "imagenet100" in drawn.missing


def test_talr_table_3_reads_the_ground_truth_of_each_dataset():
    place = {"dataset": "labelme", "split": "labelme_2k"}
    rows = scores("talr_ndcg", 16, {"nDCG": 0.8}, **place, ground_truth="graded_distance")
    rows += scores("talr_ndcg", 32, {"nDCG": 0.7}, **place, ground_truth="class_label")
    drawn = DRAWINGS["talr_table_3"](made(summary=rows))
    (own,) = drawn.tables
    assert own.groups == [[("", 2), ("LabelMe (NDCG)", 4)]]
    by_source = {(method, source): values for method, source, *values in own.rows}
    dash = "\N{EN DASH}"
    assert by_source["TALR-NDCG", "made: gist"] == ["0.800", dash, dash, dash]
    assert by_source["TALR-NDCG", "printed"] == ["0.866", "0.895", "0.908", "0.917"]
    assert by_source["StructHash", "printed"] == ["0.857", "0.888", "0.904", "0.915"]
    assert drawn.missing.endswith("on NUS-WIDE (NDCG) (nuswide, nuswide_21)")


def test_talr_figure_3_draws_the_range_over_the_orders_of_ties():
    ranges = {"mAP[worst]": 0.1, "mAP": 0.2, "mAP[best]": 0.4}
    rows = [row for hasher in ("talr_ap", "dpsh", "itq") for row in scores(hasher, 12, ranges, split="cifar10_s1")]
    rows += scores("mihash", 24, {"mAP": 0.2}, split="cifar10_s1")  # without a range
    drawn = DRAWINGS["talr_figure_3"](made(summary=rows))
    (figure,) = drawn.figures
    assert figure.data["method"].tolist() == ["DPSH", "TALR-AP"]
    assert figure.data[["worst", "expected", "best"]].to_numpy().tolist() == [[0.1, 0.2, 0.4]] * 2
    assert "The mean width of the ranges is 0.3000 (12 bits)" in figure.shows
    assert drawn.missing == ""
    elsewhere = DRAWINGS["talr_figure_3"](made(summary=[row | {"split": "standard"} for row in rows]))
    assert "A substitute: standard in place of cifar10_s1." in elsewhere.figures[0].shows
    assert "CIFAR-10, S1 (cifar10, cifar10_s1)" in elsewhere.missing


def test_talr_alpha_has_a_line_for_each_way_of_training():
    pairs = [(1, 1), (40, 1), (1, 40), (1, 10)]
    rows = [
        {"hasher": "talr_ap", "n_bits": 32, "metric": "mAP", "alpha": alpha, "growth": growth, "mean": 0.9 / alpha}
        for alpha, growth in pairs
    ]
    (figure,) = DRAWINGS["talr_alpha"](made(alpha=[row | {"variant": ""} for row in rows])).figures
    lines = {name: own["last"].tolist() for name, own in figure.data.groupby("training")}
    assert lines == {"fixed": [1, 40], "growing from 1": [10, 40]}
    assert "mAP is highest, 0.9000, with alpha 1" in figure.shows


def test_thesis_figure_3_8_draws_what_is_there_and_grh_when_it_is():
    rows = [
        {"hasher": hasher, "n_bits": 32, "metric": f"{side}_micro", "radius": radius, "value": value}
        for hasher in ("itq", "sh", "grh")
        for radius in range(2)
        for side, value in (("precision", 0.9 - radius / 2), ("recall", 0.2 + radius / 2))
    ]
    two = DRAWINGS["thesis_figure_3_8"](made(radii=[row for row in rows if row["hasher"] != "grh"]))
    assert list(dict.fromkeys(two.figures[0].data["method"])) == ["SH", "ITQ"]
    assert "the curves of grh at 32 bits" in two.missing
    three = DRAWINGS["thesis_figure_3_8"](made(radii=rows))
    assert list(dict.fromkeys(three.figures[0].data["method"])) == ["GRH", "SH", "ITQ"]
    assert three.missing == ""
    assert three.figures[0].data[["precision", "recall"]].to_numpy().tolist()[:2] == [[0.9, 0.2], [0.4, 0.7]]


def test_the_picture_has_every_series_and_a_point_for_every_value():
    rows = [row for hasher in ("deep_squared", "m_dsh_4") for row in scores(hasher, 48, RAMAP)]
    (figure,) = DRAWINGS["ramap_figure_4"](made(summary=rows)).figures
    svg = printed_pictures([figure])[0]["svg"].decode()
    for words in ("DSH", "4-DSH", "RAMAP@R", "0.4000 for all codes", "Hamming radius R"):
        assert f">{words}</" in svg
    marks = re.findall(r'mark-symbol role-mark [^"]*" .*?</g>', svg)
    assert sum(mark.count("<path") for mark in marks) == len(figure.data) == 2 * 2 * 2


def test_the_claims_have_the_printed_values_under_the_expected_names():
    """A claim that is renamed must be renamed here, or the printed rows disappear from the tables."""
    claims = printed()
    assert claims["S0-10"]["CIFAR-100, 24 bits: mLGAP"] == 0.066
    assert claims["S0-11"]["CIFAR-10, 12 bits: mAP"] == 0.3008
    assert claims["S3-15"]["CIFAR-10 S1, BRE"] == [0.361, 0.448, 0.502, 0.533]
    assert claims["S3-15"]["NUS-WIDE AP@5K, DPSH"] == [0.758, 0.793, 0.818, 0.830]
    assert claims["S3-15"]["CIFAR-10 S2, MIHash"] == [0.929, 0.933, 0.938, 0.942]
    assert claims["S3-17"]["MACHash"] == [0.821, 0.821, 0.821, 0.821]
    assert claims["S3-18"]["TALR-NDCG"] == [0.866, 0.895, 0.908, 0.917]
    assert claims["S3-16"]["HashNet"] == [0.5059, 0.6306, 0.6633, 0.6835]

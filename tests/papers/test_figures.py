"""The papers' figures and tables on small tables: what the results allow is drawn, and what is missing is named."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from evidence import rows_of, write_summary

from protocol.papers import printed
from protocol.papers.figure_data import COLUMNS, _named
from protocol.papers.figures import DRAWINGS, FigureData
from protocol.report import table_files
from protocol.report.manuscript.files import printed_pictures

RESULTS = Path(__file__).parents[2] / "results"
PLACE = {"experiment": "made", "dataset": "cifar10", "feature": "gist", "ground_truth": "class_label", "split": "s"}
USUAL = PLACE | {"n_runs": 2, "std": 0.01, "metric": "mAP", "extension": "none", "extension_bits": 0}
CASES = yaml.safe_load((Path(__file__).parent / "figures.yaml").read_text())


def data_of(case):
    """Return data with the rows of a case."""
    tables = {kind: pd.DataFrame(rows_of(case.get(kind, []), USUAL)) for kind in COLUMNS}
    empty = {kind: pd.DataFrame(columns=[*columns]) for kind, columns in COLUMNS.items()}
    return FigureData(**{kind: _named(table, kind) if len(table) else empty[kind] for kind, table in tables.items()})


@pytest.mark.parametrize("name", DRAWINGS)
def test_without_results_nothing_is_drawn_and_what_is_missing_is_said(name):
    drawn = DRAWINGS[name](data_of({}))
    assert not drawn.figures
    assert not drawn.tables
    assert drawn.missing


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["figure"])
def test_a_figure_of_rows(case):
    drawn = DRAWINGS[case["figure"]](data_of(case))
    assert [words for words in case.get("missing", ()) if words not in drawn.missing] == []
    assert case.get("missing") != [] or drawn.missing == ""
    assert case.get("not_missing", "-- none --") not in drawn.missing
    if "rows" in case:
        (table,) = drawn.tables
        rows = [row[: len(case["rows"][0])] for row in table.rows]
        assert [row for row in rows if row in case["rows"]] == case["rows"]
        assert table.flat_header[: len(case.get("header", ()))] == case.get("header", [])
        strong = [[*table.rows[down][:2], across] for down, across in sorted(table.strong)]
        assert sorted(case.get("strong", strong)) == sorted(strong)
        text = table.caption
    elif case["data"] is None:
        assert not drawn.figures
        return
    else:
        (table,) = drawn.figures
        assert {name: table.data[name].tolist() for name in case["data"]} == {
            name: pytest.approx(values) if name == "width" else values for name, values in case["data"].items()
        }
        text = table.shows
    assert case.get("name", table.name) == table.name
    assert [words for words in case.get("shows", ()) if words not in text] == []


def test_a_table_as_latex():
    (case, *_) = [case for case in CASES if case["figure"] == "mlgap_table_1"]
    text = table_files(DRAWINGS["mlgap_table_1"](data_of(case)).tables)["mlgap-table-1-r2.tex"].decode()
    assert r" &  & \multicolumn{4}{c}{CIFAR-10} & \multicolumn{4}{c}{CIFAR-100} \\" in text
    assert r"eq. 20 \& 25 & made: gist, s & 0.2162 & 0.5217" in text


def test_ramap_figure_7_draws_the_measured_times_of_an_experiment_and_the_stored_ones(tmp_path):
    cells = [(hasher, radius) for hasher in ("deep_squared", "m_dsh_8") for radius in range(3)]
    rows = "".join(f"{hasher},48,{radius},{10**radius},{0.01 * 10**radius:g}\n" for hasher, radius in cells)
    examples = tmp_path / "mine" / "gist" / "examples" / "s"
    examples.mkdir(parents=True)
    (examples / "lookups.csv").write_text("hasher,n_bits,radius,codes,milliseconds\n" + rows)
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


def test_the_picture_has_every_series_and_a_point_for_every_value():
    (figure,) = DRAWINGS["ramap_figure_4"](data_of(CASES[0])).figures
    svg = printed_pictures([figure])[0]["svg"].decode()
    for words in ("DSH", "4-DSH", "RAMAP@R", "0.4000 for all codes", "Hamming radius R"):
        assert f">{words}</" in svg
    marks = re.findall(r'mark-symbol role-mark [^"]*" .*?</g>', svg)
    assert sum(mark.count("<path") for mark in marks) == len(figure.data) == 3 * 2 * 2


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

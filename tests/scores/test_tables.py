"""Tables as CSV, text, Markdown and LaTeX."""

import re

import pandas as pd

from protocol.scores import tables


def test_csv_is_utf8_with_quotes_only_where_needed(tmp_path):
    tables.write_csv(tmp_path / "a.csv", ("name", "value"), [("a, b", 1), ("±", None), ('"', True)])
    assert (tmp_path / "a.csv").read_bytes() == 'name,value\n"a, b",1\n±,\n"""",True\n'.encode()


def test_a_data_frame_is_written_with_nine_digits(tmp_path):
    tables.write_table(tmp_path / "a.csv", pd.DataFrame({"x": [1 / 3, float("nan")], "n": [1, 2]}))
    assert (tmp_path / "a.csv").read_text() == "x,n\n0.333333333,1\n,2\n"


def test_text_is_aligned_and_keeps_numbers_as_they_are_written():
    lines = tables.text(["metric", "mean"], [["mAP@1000[all]", "0.5000"], ["RAMAP", "1e-05"], ["x", ""]]).splitlines()
    assert lines == ["metric         mean", "mAP@1000[all]  0.5000", "RAMAP          1e-05", "x"]


def test_wide_columns_are_wrapped_and_words_are_not_divided():
    words, long = "a b c " * 20, "x" * 90
    rows = [["mAP", words.strip(), "0.5"], ["AUPRC", "none", "0.25"]]
    lines = tables.text(["metric", "ties", "mean"], rows).split("\n")
    assert max(map(len, lines)) <= 100
    assert [line.split()[-1] for line in lines if line.startswith(("mAP", "AUPRC"))] == ["0.5", "0.25"]
    assert " ".join(lines).count("a b c") >= 18
    assert tables.text(["a", "b"], [[long, long]]).split("\n")[1] == f"{long}  {long}"


SPECIAL = r"100 % & $5 #1 a_b {c} ~ ^ \ < >"


def test_every_special_character_is_escaped():
    bare = re.sub(r"\\(?:text\w+\{\}|ensuremath\{[<>]\}|\^\{\}|[&%$#_{}])", "", tables.escaped(SPECIAL))
    assert not re.search(r"[&%$#_{}~^\\<>]", bare)


def test_one_table_in_every_format():
    rows = [["a<b", "**", "0.5 ± 1"], ["c|d", "two\nlines", "0.1"]]
    groups = [[("", 1), ("S1", 2)]]
    marks = {"strong": frozenset({(0, 2)}), "second": frozenset({(1, 2)})}
    table = tables.Table("t", "A & b.", ["hasher", "8 bits", "16 bits"], rows, groups=groups, **marks)
    assert table.text().splitlines()[:2] == ["A & b.", "hasher  8 bits      16 bits"]
    assert table.markdown().splitlines() == [
        "A & b.",
        "",
        "| hasher | S1 8 bits | S1 16 bits |",
        "|---|---:|---:|",
        "| a<b | ** | **0.5 ± 1** |",
        r"| c\|d | two<br>lines | <u>0.1</u> |",
    ]
    latex = table.latex()
    for line in (
        *(r"\begin{tabular}{lrr}", r" & \multicolumn{2}{c}{S1} \\", r"hasher & 8 bits & 16 bits \\"),
        *(r"a\ensuremath{<}b & {*}* & \textbf{0.5 $\pm$ 1} \\", r"& \underline{0.1} \\"),
    ):
        assert latex.count(line) == 1


def test_a_mean_and_the_bound_of_its_deviation_stay_on_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = tables.text(["one two three " * 5, "mAP"], [["x", "0.1690 ± < 0.0001"], ["y", "< 0.0001 ± 0.0020"]])
    assert {"0.1690 ± < 0.0001", "< 0.0001 ± 0.0020"} <= {line[-17:] for line in text.splitlines()}

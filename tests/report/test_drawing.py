"""Static pictures: where names and points are, and what can't be drawn."""

import json
import re

import pandas as pd
import pytest
import vl_convert
from encoded import refuses, yaml_of

from protocol.report.drawing import pictures
from protocol.report.figure import PAGE, Figure, series_scales
from protocol.report.sections import sections

BAR = {
    "mark": "bar",
    "data": {"values": [{"a": 1, "b": "x"}]},
    "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}},
}


def test_a_picture_does_not_depend_on_earlier_ones():
    clipped = BAR | {"mark": {"type": "bar", "clip": True}}
    one, other = (pictures([clipped, clipped]) for _ in range(2))
    assert one == other
    assert [b'"clip0"' in own["svg"] for own in one] == [True, False]


def test_a_chart_that_can_not_be_drawn_is_named():
    refuses(r"^figure 2: can't be drawn: ", pictures, [BAR, {"mark": "no such mark"}])


def by_length(lines, n_runs=3):
    """Return a figure of lines with values from 0 to 1, which are 250 to 0 pixels from its top."""
    rows = [
        {"hasher": name, "n_bits": n_bits, "mean": value, "std": 0.0, "n_runs": n_runs}
        for name, values in lines.items()
        for n_bits, value in zip((8, 16), values, strict=True)
    ]
    chart = PAGE.chart("by-length", **series_scales(dict(zip(lines, lines, strict=True))), zero=False, range="[0, 1]")
    return Figure("made", "", "", chart, pd.DataFrame(rows), {})


def drawn(figure):
    (picture,) = pictures([figure.static])
    return picture["svg"].decode()


def places(svg, kind):
    """Return the place of each mark of a kind, and its text."""
    found = re.findall(rf'<{kind}[^>]*transform="translate\(([\d.-]+),([\d.-]+)\)"[^>]*>([^<]*)', svg)
    return [(float(x), float(y), text) for x, y, text in found]


NAMES = {f"h{number:02}": (0, number / 19) for number in range(20)}
MANY = (NAMES, {name: 266 - 14 * place for place, name in enumerate(NAMES)})


@pytest.mark.parametrize(("lines", "expected"), [*yaml_of("report/names.yaml"), MANY])
def test_names_stand_at_the_ends_of_their_lines_in_order_and_apart(lines, expected):
    names = {text: round(y) for _, y, text in places(drawn(by_length(lines)), "text") if text in lines}
    assert {name: y - 4 for name, y in names.items()} == expected  # text hangs below its middle


def test_only_titles_have_the_choice_and_long_names_are_shown_in_full():
    """The name of a hasher may look like a place for the choice."""
    chart = PAGE.chart("by-length", **series_scales({"{metric}": "{metric}"}), zero=True, range="[0, 1]")
    row = {"hasher": "{metric}", "metric": "mAP", "n_bits": 8, "mean": 0.3, "std": 0.5, "n_runs": 3}
    static = Figure("made", "", "", chart, pd.DataFrame([row]), {"metric": "mAP"}).static
    assert static["layer"][0]["encoding"]["y"]["title"] == "mAP"
    svg = drawn(Figure("made", "", "", chart, pd.DataFrame([row]), {"metric": "mAP"}))
    assert {"{metric}", "0", "0.8"} <= {text for _, _, text in places(svg, "text")}
    assert "-0.2" not in svg.replace("\N{MINUS SIGN}", "-")  # the bar ends at the range of the metric


def test_points_stay_on_their_tick():
    lines = {name: (value, value) for name, (_, value) in NAMES.items()}
    points = [x for x, _, _ in places(drawn(by_length(lines)), "path")]
    assert len(points) == 3 * len(lines)  # two on the ticks, and one beside the name
    for tick in (points[: len(lines)], points[len(lines) : 2 * len(lines)]):
        assert max(tick) - min(tick) < 60**0.5  # the width of a marker


def test_no_chart_of_lines_has_a_legend(results):
    for figure in (figure for part in sections(results)[0] for figure in part.figures):
        chart = vl_convert.vegalite_to_vega(figure.static)
        assert '"line"' not in json.dumps(chart["marks"]) or "legends" not in chart, figure.name


@pytest.mark.parametrize(
    ("chart", "means"), [("by-length", "mean"), ("rescoring", "mean"), ("split-differences", "difference")]
)
def test_the_intervals_of_two_runs_are_not_drawn(chart, means):
    """Each has a line in the colour of its hasher, which is a point if there is no interval."""
    values = {"zero": False, "range": "[0, 1]", "step": 20, "versus": ["improved"], "axis": "mAP", "legend": None}
    spec = PAGE.chart(chart, **series_scales({"lsh": "lsh"}), **values)
    row = {"hasher": "lsh", "n_bits": 8, "c": 1, means: 0.5, "std": 0.1, "low": 0.4, "high": 0.6}
    row |= {"versus": "improved", "value": 0.6}
    for n_runs in (2, 3):
        svg = drawn(Figure("made", "", "", spec, pd.DataFrame([row | {"n_runs": n_runs}]), {}))
        (ends,) = re.findall('x2="([^"]*)" y2="([^"]*)" stroke="#0594ff" stroke-width="(?:1.5|2)"', svg)
        assert (ends == ("0", "0")) == (n_runs == 2)

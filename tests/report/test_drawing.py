"""Static pictures, and what happens where they can't be drawn."""

import logging
import struct
import subprocess
import sys

import pytest

from protocol.checks import ProtocolError
from protocol.report import drawing, figure_files, page
from protocol.report.drawing import DrawingError, pictures
from protocol.report.sections import sections

resource = pytest.importorskip("resource")

BAR = {
    "mark": "bar",
    "data": {"values": [{"a": 1, "b": "x"}]},
    "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}},
}


def test_pictures_in_every_format():
    import vl_convert

    first, second = pictures([BAR, BAR | {"mark": "point"}], ("svg", "pdf", "png"), ppi=144)
    assert first["svg"].decode() == vl_convert.vegalite_to_svg(BAR)
    assert first["png"] == vl_convert.vegalite_to_png(BAR, ppi=144)
    assert struct.unpack(">II", first["png"].partition(b"pHYs")[2][:8]) == (round(144 / 0.0254),) * 2
    assert first["pdf"].startswith(b"%PDF")
    assert first["svg"] != second["svg"]


def test_a_picture_does_not_depend_on_earlier_ones():
    clipped = BAR | {"mark": {"type": "bar", "clip": True}}
    one, other = (pictures([clipped, clipped]) for _ in range(2))
    assert one == other
    assert [b'"clip0"' in own["svg"] for own in one] == [True, False]


def test_a_chart_that_can_not_be_drawn_is_named():
    with pytest.raises(ProtocolError, match=r"^figure 2: can't be drawn: "):
        pictures([BAR, {"mark": "no such mark"}])


def test_a_limit_of_the_address_space_is_named_in_one_line():
    code = (
        "import resource; from protocol.report.drawing import DrawingError, pictures\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        f"try:\n    pictures([{BAR!r}])\nexcept DrawingError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    problem = "vl-convert can't draw the static pictures"
    assert done.stdout == f"{problem}: the address space is limited to 8 GiB (ulimit -v).\n"


def test_a_page_without_pictures_keeps_its_charts_and_says_so(bare, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(drawing, "_address_space", lambda: 2**30)
    with caplog.at_level(logging.WARNING):
        html = page(bare)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("The page is written without static pictures; its charts are drawn by a browser.")
    assert "The static pictures could not be drawn on the machine that made this page" in html
    assert html.count("<figure id=") == html.count('<script type="application/json">') > 5
    with pytest.raises(DrawingError, match="limited to 1 GiB"):
        figure_files([sections(bare)[2].figures[0]])
    assert not (tmp_path / "figures").exists()

"""The page: one HTML file that opens offline, with the results of an experiment and their provenance."""

import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protocol.checks import printable
from protocol.report.drawing import DrawingError, pictures
from protocol.report.figure import SHARED, Figure, Section, scaling
from protocol.report.results import Results
from protocol.report.sections import experiment_line, sections
from protocol.report.styles import display_name

_NOT_DRAWN = "The static pictures could not be drawn on the machine that made this page; the charts need JavaScript."
_log = logging.getLogger(__name__)


def page(results: Results) -> str:
    """Return the report of one experiment as HTML: sections, figures and their data, and the scripts that draw them."""
    dataset = display_name(results.config, "dataset", results.config["experiment"])
    title = results.config.get("title", f"{dataset}: retrieval with binary codes")
    notes = results.provenance["notes"]
    return render(title, sections(results), summary=experiment_line(results), notes=notes)


def render(title: str, parts: Sequence[Section], *, summary: str = "", notes: Sequence[str] = ()) -> str:
    """Return a page of sections, with a line of `summary` and `notes` at the top.

    If static pictures can't be drawn, the page contains a note, and its charts are drawn by the browser.
    """
    drawn = _drawn([figure for part in parts for figure in part.figures])
    notes = notes if drawn is not None else (*notes, _NOT_DRAWN)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            sections=parts,
            summary=summary,
            notes=notes,
            shared=shared_choices([figure for part in parts for figure in part.figures]),
            pictures=drawn or {},
            vega=_vega(),
        )
    )


def shared_choices(figures: Sequence[Figure]) -> dict[str, tuple[list[Any], Any]]:
    """Return the values that figures offer of each column in `SHARED`, and the value that is drawn first.

    Columns with a single value are left out, since there is nothing to choose.
    """
    found: dict[str, tuple[list[Any], Any]] = {}
    for column in SHARED:
        own = [figure for figure in figures if column in figure.choices]
        values = list(dict.fromkeys(value for figure in own for value in figure.data[column].tolist()))
        if len(values) > 1:
            found[column] = (sorted(values) if column == "n_bits" else values, own[0].choices[column])
    return found


def _drawn(figures: Sequence[Figure]) -> dict[str, str] | None:
    """Return the static pictures by the figures' names, or None, with a warning, if this machine can't draw them."""
    try:
        made = pictures([figure.static for figure in figures])
    except DrawingError as error:
        _log.warning("%s The page is written without static pictures; its charts are drawn by a browser.", error)
        return None
    return {figure.name: scaling(own["svg"].decode()) for figure, own in zip(figures, made, strict=True)}


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finalized(value: Any) -> Any:
    """Return a value for the page, with control characters in text escaped, since names may come from any file."""
    return printable(value, keep="\n\t") if type(value) is str else value


@functools.cache
def _vega() -> str:
    """Return the scripts that draw Vega-Lite specifications, escaped for a page."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")

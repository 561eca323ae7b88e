"""The page: one HTML file that opens offline, with the results of an experiment and their provenance."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protocol.checks import need
from protocol.report.drawing import pictures
from protocol.report.figure import SHARED, Figure, Section, scaling
from protocol.report.results import N_FIRST, Results
from protocol.report.sections import sections as sections_of
from protocol.report.sections.answer import experiment_line
from protocol.report.sections.data import status
from protocol.scores.tables import templates

PACKAGE_DATA = "templates/*.j2"
_GLOBAL = "window.vegaEmbed = vegaEmbed;"


def page(results: Results) -> str:
    """Return the report of one experiment as HTML: sections, figures and their data, and the scripts that draw them."""
    title = results.config.get("title", f"{results.config['names']['dataset']}: retrieval with binary codes")
    selections = [selection.combination for selection in results.selections]
    about = {"summary": experiment_line(results), "status": status(results)}
    return render(title, *sections_of(results), selections=selections, **about)


def render(title: str, *pages: Sequence[Section], selections: Sequence[Mapping[str, Any]] = (), **about: Any) -> str:
    """Return a page of sections, with the ``summary`` and the ``status`` in `about`, if any, at the top.

    The reader chooses from `selections`, each of which the page in the same place describes. The first is shown.
    """
    figures = [figure for part in pages[0] for figure in part.figures]
    about = {"summary": "", "status": (), "title": title, "sections": pages[0], "selections": selections} | about
    choices = {"for_all": SHARED, "n_first": N_FIRST, "shared": shared_choices(figures, selections)}
    svgs = [scaling(picture["svg"].decode()) for picture in pictures([figure.static for figure in figures])]
    named = dict(zip([figure.name for figure in figures], svgs, strict=True))
    drawn = {"contents": _contents(pages), "pictures": named, "vega": _vega()}
    return rendered("page.html.j2", **about, **choices, **drawn)


def rendered(template: str, **values: Any) -> str:
    """Return a page from a template of this package and its values."""
    environment = templates(Path(__file__).parent / "templates")
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":"), "ensure_ascii": False}
    return str(environment.get_template(template).render(**values))


def _contents(pages: Sequence[Sequence[Section]]) -> dict[str, list[tuple[Any, list[int]]]]:
    """Return the different contents of each part by its name, each with the numbers of the pages that have it."""
    contents: dict[str, list[tuple[Any, list[int]]]] = {}
    for number, sections in enumerate(pages):
        for section in sections:
            parts: dict[str, Any] = {f"{section.name} text": section.text, f"{section.name} context": section.context}
            parts |= {table.name: table for table in section.tables}
            for name, content in parts.items():
                known = contents.setdefault(name, [])
                same = next((numbers for other, numbers in known if other == content), [])
                known += [] if same else [(content, same)]
                same.append(number)
    return contents


def shared_choices(figures: Sequence[Figure], selections: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list, Any]]:
    """Return the values of each column in `SHARED` in the selections, or else in the figures, and the first choice.

    Columns with a single value are left out, since there is nothing to choose.
    """
    choices: dict[str, tuple[list[Any], Any]] = {}
    for column in SHARED:
        with_choice = [figure for figure in figures if column in figure.choices]
        offered = [value for figure in with_choice for value in figure.data[column].tolist()]
        values = list(dict.fromkeys([selection[column] for selection in selections] or offered))
        if len(values) > 1:
            first = selections[0] if selections else with_choice[0].choices
            choices[column] = (sorted(values) if column == "n_bits" else values, first[column])
    return choices


@functools.cache
def _vega() -> str:
    """Return the scripts of Vega, Vega-Lite and vega-embed, which draw the charts, escaped for a page."""
    return str(need("vl_convert", "report").javascript_bundle(_GLOBAL)).replace("</script", "<\\/script")

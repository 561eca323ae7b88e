"""The section of the report about the figures of the papers."""

import dataclasses

from protocol.papers import printed
from protocol.report.page import render
from protocol.report.sections.published import figures_of_papers_section as section


def renamed(results, names):
    """Return results whose hashers have other names."""
    summary = results.summary.assign(hasher=results.summary["hasher"].replace(names))
    displayed = {name: table.assign(hasher=table["hasher"].replace(names)) for name, table in results.displayed.items()}
    config = results.config | {"hashers": [names.get(name, name) for name in results.config["hashers"]]}
    return dataclasses.replace(results, summary=summary, displayed=displayed, config=config, printed=printed())


def test_an_experiment_about_no_paper_has_no_such_section(results):
    assert section(results) is None


def test_an_experiment_with_the_hashers_of_a_paper_has_its_figures(results):
    made = section(renamed(results, {"itq": "buffer_zone", "lsh": "deep_supervised"}))
    assert {figure.name.rsplit("-made", 1)[0] for figure in made.figures} == {"mlgap-figure-8"}
    assert len(made.figures) == 2  # of two splits
    made = section(renamed(results, {"itq": "talr_ap"}))
    assert [table.name for table in made.tables] == ["talr-table-1-digits-standard", "talr-table-1-digits-improved"]
    html = render("", [made])
    assert '<th colspan="2" scope="colgroup" class="group">digits, standard split (mAP)</th>' in html

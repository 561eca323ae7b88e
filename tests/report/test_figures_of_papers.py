"""The section of the report about the figures of the papers."""

import dataclasses

from protocol.papers.comparisons import having
from protocol.papers.figures import FigureData, section
from protocol.report.page import render
from protocol.report.sections import sections
from protocol.scores.summary import at


def renamed(results, names):
    """Return results whose hashers have other names."""
    summary = results.summary.assign(hasher=results.summary["hasher"].replace(names))
    shown = {name: table.assign(hasher=table["hasher"].replace(names)) for name, table in results.examples.items()}
    config = results.config | {"hashers": [names.get(name, name) for name in results.config["hashers"]]}
    return dataclasses.replace(results, summary=summary, examples=shown, config=config)


def test_an_experiment_about_no_paper_has_no_such_section(results):
    assert section(results) is None


def test_an_experiment_with_the_hashers_of_a_paper_has_its_figures(results):
    made = section(renamed(results, {"itq": "buffer_zone", "lsh": "deep_supervised"}))
    assert {figure.name.rsplit("-made", 1)[0] for figure in made.figures} == {"mlgap-figure-8"}
    assert len(made.figures) == 2  # of two splits
    assert "A substitute: digits in place of cifar10" in render("", [made])
    names = [part.name for part in sections(results, results.selections[0], made)]
    assert names[names.index("published") - 1] == "figures-of-papers"


def test_rows_of_an_experiment(results):
    own = FigureData.of_experiment(results)
    assert set(own.summary["method"]) == {"LSH", "ITQ"}
    assert set(own.summary["experiment"]) == {"made"}
    assert set(own.radii["dataset"]) == {"digits"}
    assert "milliseconds" in set(own.radii["metric"])
    assert own.alpha.empty
    options = {"lsh": {"alpha": 5.0, "growth": 1.0}, "itq": {"alpha": 1.5}}
    bases = {"lsh": "talr_ap"}
    changed = dataclasses.replace(results, config=results.config | {"hasher_options": options, "hasher_bases": bases})
    alpha = FigureData.of_experiment(changed).alpha
    assert set(alpha["plugin"]) == {"talr_ap"}
    assert set(alpha["alpha"]) == {5.0}
    expected = at(results.summary, hasher="lsh", metric="mAP", n_bits=4, extension="none")["mean"]
    assert sorted(having(alpha, metric="mAP", n_bits=4)["mean"]) == sorted(expected)

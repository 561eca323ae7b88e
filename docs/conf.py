"""Configuration of the documentation site, which ``sphinx-build -W --keep-going docs docs/_build`` builds."""

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from protocol import __version__
from protocol.comparison import leaderboard

DOCS = Path(__file__).parent
STORED = Path("results", "reference", "cifar10", "summary.csv")  # in the checkout
_LINK = """
<p>All places, scores and records: <a href="places/leaderboard.html">as a page of their own</a>,
<a href="places/leaderboard.csv">as CSV</a>, <a href="places/leaderboard.json">as JSON</a>.</p>
"""
_EMBEDDED = """
<iframe src="places/leaderboard.html" title="Leaderboard" style="width: 100%; height: 80vh; border: 0"></iframe>
"""

project = "protocol"
author = "the protocol authors"
copyright = f"2026, {author}"  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "paper"]
templates_path = ["_templates"]
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "dollarmath"]
html_math_renderer = "mathml"

# Every reference must be resolved, except those to other packages, whose documentation is not available offline.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!protocol\.).*")]
nitpick_ignore = [("py:class", "protocol.inputs.validation.Sliceable")]  # arrays and HDF5 datasets satisfy it

suppress_warnings = ["ref.python"]  # annotations with a class name that two packages have
napoleon_use_ivar = True  # otherwise, attributes that are also properties would be described twice

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"

html_theme = "pydata_sphinx_theme"
html_title = f"protocol {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_selector = "div:not(.highlight-text) > div.highlight pre"  # all but outputs
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_search_scorer = str(DOCS / "scorer.js")
html_domain_indices = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _copy_stored_results(_app: Sphinx) -> None:
    """Copy what pages show of the stored results into the site, which can't show files outside its folder."""
    shutil.rmtree(DOCS / "results", ignore_errors=True)
    tables = shutil.ignore_patterns("*.csv", "*.json")
    shutil.copytree(DOCS.parent / "results" / "reference", DOCS / "results", ignore=tables)


def _link_to_copies(_app: Sphinx, page: str, source: list[str]) -> None:
    """Make links to stored results, whose paths are those of the repository, lead to the copies."""
    source[0] = source[0].replace("](../../results/reference/", "](../results/")
    if page == "leaderboard":
        title, _, text = source[0].partition("\n\n")
        source[0] = f"{title}\n\n{_LINK}\n\n{text}{_EMBEDDED}"


def _write_leaderboard(app: Sphinx, _error: Exception | None) -> None:
    """Write the leaderboard of the stored results into the site, as `protocol compare --leaderboard` does."""
    with contextlib.chdir(DOCS.parent):
        if STORED.exists():
            folder = Path(app.outdir, "places")
            folder.mkdir(exist_ok=True)
            leaderboard(STORED).write(folder / "leaderboard.html")


def _formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script from the network."""
    translator.body.append(
        tex2mathml(node.astext().replace(r"\iff", r"\Leftrightarrow"), as_block=isinstance(node, nodes.math_block))
    )
    raise nodes.SkipNode


def _escape_attributes(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Escape the underscore at the end of learned attributes, which would be a link to a target of that name."""
    for place, line in enumerate(lines):
        if line.startswith((":vartype ", ":type ", ":rtype:")):
            lines[place] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line)
        elif line.startswith(":ivar "):
            lines[place] = re.sub(r"^(:ivar \w+)_:", r"\1\_:", line)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the steps above, which may run in several processes."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.connect("builder-inited", _copy_stored_results)
    app.connect("source-read", _link_to_copies)
    app.connect("build-finished", _write_leaderboard)
    app.connect("autodoc-process-docstring", _escape_attributes, priority=900)  # after napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}

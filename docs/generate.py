"""The generated pages of docs/reference/, from the code that they describe.

python docs/generate.py
"""

import argparse
import functools
import importlib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import cli, papers, registry
from protocol.cli.list import entries, markdown, properties
from protocol.configuration.options import options, plain
from protocol.configuration.schema import filled, keys, phrase
from protocol.scores import tables
from protocol.shipped import configs, description

FOLDER = Path(__file__).parent / "reference"
_TITLES = {
    "dataset": "Datasets",
    "feature": "Features",
    "ground_truth": "Ground truths",
    "split": "Splits",
    "hasher": "Hashers",
    "quantiser": "Quantisers",
    "metric": "Metrics",
    "convention": "Conventions",
    "finding": "Findings of the audit",
}
_ABOVE = {
    "dataset": "The key `dataset` of a config file names a dataset, and `dataset_options` sets its options. "
    "Files are downloaded from their official address or from a "
    "[mirror](../how-to/use-a-mirror-or-work-offline.md).",
    "feature": "Vectors that describe the items, from which hashers learn. The key `features` of a config file "
    "names them.",
    "ground_truth": "A ground truth defines the database items that are relevant to a query "
    "([explanation](../explanation/ground-truths.md)). The key `ground_truths` of a config file names ground truths.",
    "split": "A split protocol declares where the queries, the validation sets, the training set and the database "
    "come from, their sizes, and which of them may overlap ([explanation](../explanation/split-protocols.md)). The key "
    "`splits` of a config file names protocols; the key `split_sizes` states the sizes that a protocol leaves open.",
    "hasher": "A hasher learns hash functions from the training set and encodes queries and database. The key "
    "`hashers` of a config file names hashers, `hasher_options` sets their options, and `hasher_grids` lists "
    "values to select from.",
    "quantiser": "A quantiser compresses vectors of real numbers. `protocol quantisation --quantiser NAME` compares it "
    "with binary codes at equal bytes ([guide](../how-to/compare-representations.md)), with options in the form "
    "`pq:m=16`. Every hasher that learns from vectors alone is also a quantiser. In the column of sizes, d is the "
    "dimension of the vectors.",
    "metric": "The names of metrics in config files, commands and results. K, R and beta stand for numbers: write "
    "`mAP@1000[all]` for `mAP@K[all]`, `precision@r2` for `precision@rR`, and `F0.5@r2` for `F_beta@rR`.\n\n"
    "For a query without relevant items, or with an empty Hamming ball, some metrics are 0/0. By default, such a value "
    "counts as 0; `empty: drop` in a config file leaves the query out of the mean. Values are expected values over all "
    "orders of [ties](../explanation/ties.md), unless the name of the metric states otherwise.",
    "convention": "A convention describes how a paper or a tool computes its scores: which metrics, and how undefined "
    "values count. `protocol evaluate --convention NAME` applies it.",
    "finding": "The problems that `protocol audit` can find in a split. Each finding is an error, a warning or "
    "information; the same finding can be an error under one protocol and inherent in another.",
}
_FAMILIES = {
    "metric": {
        "Average precision": ["average_precision", "average_precision_at_r"],
        "Precision and recall of the top K": ["precision_recall_cutoff", "r_precision", "hit_rate"],
        "First relevant item": ["reciprocal_rank"],
        "Graded relevance": ["ndcg", "average_cumulative_gain", "weighted_average_precision"],
        "Hamming balls": [
            *("precision_recall", "f_measure", "average_precision_in_ball", "ramap", "mlgap", "hamming_balls"),
        ],
        "Precision-recall curves": ["auprc"],
        "Nearest neighbours": ["neighbours"],
        "Buckets": ["buckets"],
    },
    "hasher": {
        "Without labels": ["hashers"],
        "With labels": ["supervised", "talr"],
        "Neural networks": ["networks"],
        "Two modalities": ["cross_modal"],
    },
}  # by the module of a metric and the package of a hasher; each entry of these kinds has a page of its own
_CONFIGURATION = """\
# Configuration

A config file is YAML and describes one experiment. This page is generated from the schema against which config files
are checked, `workflow/schemas/config.schema.yaml`.

`protocol check FILE` checks a config file and prints what would run. The option `--config KEY=VALUE` of this command
and of `snakemake` changes a key. `protocol list` lists the plug-ins, and `protocol list hashers itq` explains one of
them with its options.

The keys `runs`, `splits`, `ground_truths`, `hashers`, `n_bits` and `extensions` apply to every feature. Below a
feature, they apply to that feature alone.

A plug-in may be used several times with different options. Each variant then needs its own name, made of
lower-case letters, digits and `_`:

```yaml
hashers: [lsh, itq, {name: itq_5, base: itq, options: {n_iter: 5}}]
features:
  gist: {}
  gist_small: {base: gist, options: {image_size: 16}}
```

A name has one meaning in the whole file: once it is defined, other lists may contain the name alone, and
`hasher_options`, `hasher_grids` and `ground_truth_options` may refer to it.
"""
_EVALUATIONS = """\
The standard evaluation ranks by Hamming distance, takes the expected value over ties, divides average precision by all
relevant items, counts a query without relevant items as 0, and takes the mean over the queries. This page lists the
differences from it that `protocol explain` and `protocol diagnose` know. An evaluation has at most one difference of
each family. Its weight is the sum of the weights of its differences: 1 for a convention of many tools, 2 for a rarer
convention or a fault of several tools, and 3 for a fault of one tool. Measures other than mAP, nDCG, precision and
recall (AUPRC, MRR, R-precision, hit rate) weigh 1 more. The sources are public code; `sklearn`, `numpy` and `torch` are
libraries, and all others are repositories."""
_HASHER_CLASSES = """
The page of each [hasher](../hashers.md) describes its class.
"""
_METRIC_MODULES = """
```{toctree}
:maxdepth: 1
:glob:

metrics/*
```
"""
_PACKAGES = {
    "auditing": "Auditing",
    "comparison": "Comparison",
    "configuration": "Configuration",
    "counting": "Counting",
    "datasets": "Datasets",
    "evaluation": "Evaluation",
    "evaluators": "Evaluators",
    "features": "Features",
    "hashers": "Hashers",
    "metrics": "Metrics",
    "papers": "Claims of the papers",
    "provenance": "Provenance",
    "quantisers": "Quantisers",
    "report": "Report",
    "scores": "Tables of scores",
    "splits": "Splits",
    "truth": "Ground truths",
    "verification": "Verification",
}


def pages() -> dict[str, Callable[[], str]]:
    """Return the functions that write the pages, by the page's name."""
    listed = {f"{kind.replace('_', '-')}s": functools.partial(_listed, kind) for kind in _TITLES}
    for kind in _FAMILIES:
        for entry in entries(kind):
            listed[f"{kind}s/{_file(entry.name)}"] = functools.partial(_entry, kind, entry)
    for module in {entry.module for entry in registry.entries("metric")}:
        listed[f"python/metrics/{module.split('.')[-1]}"] = functools.partial(_module, module)
    listed |= {f"python/{package}": functools.partial(_package, package) for package in _PACKAGES}
    return listed | {
        "command-line": _command_line,
        "configuration": _configuration,
        "config-files": _config_files,
        "claims": _claims,
        "evaluations": _evaluations,
    }


def _evaluations() -> str:
    """Return a page with a table of what evaluators do differently, for each family."""
    from protocol.evaluators import VARIANTS
    from protocol.scores import tables

    header = ["name", "weight", "meaning", "sources"]
    families = dict.fromkeys(family for family, _ in VARIANTS)
    parts = ["# Evaluations", _EVALUATIONS]
    for family in families:
        rows = [
            [f"`{name}`", str(variant.weight), variant.text, "; ".join(variant.sources) or "none was found"]
            for (of_family, name), variant in VARIANTS.items()
            if of_family == family
        ]
        parts += [f"## {family.capitalize()}", tables.markdown(header, rows)]
    return "\n\n".join(parts) + "\n"


def _listed(kind: str) -> str:
    """Return a page with a table of all entries of a kind, and a section for each, or an index of their pages."""
    command = f"`protocol list {kind}s` prints this list, `protocol list {kind}s NAME` one entry."
    above = [f"# {_TITLES[kind]}", _ABOVE[kind], command]
    if kind in _FAMILIES:
        return "\n\n".join([*above, *_index(kind)]) + "\n"
    table = re.sub(r"^\| `(.+?)` \|", lambda row: f"| [`{row[1]}`](#{_anchor(row[1])}) |", markdown(kind), flags=re.M)
    sections = ["## " + "\n".join(_section(kind, entry)) for entry in entries(kind)]
    return "\n\n".join([*above, table, *sections]) + "\n"


def _index(kind: str) -> Iterator[str]:
    """Yield a heading, a table and the table of contents of each family of a kind."""
    position = -1 if kind == "metric" else -2  # of the part of the module's path that defines the family
    family_of = {part: family for family, parts in _FAMILIES[kind].items() for part in parts}
    members: dict[str, list[Any]] = {family: [] for family in _FAMILIES[kind]}
    for entry in entries(kind):
        members.setdefault(family_of.get(entry.module.split(".")[position], "Others"), []).append(entry)
    for family, of_family in members.items():
        pages = [f"{kind}s/{_file(entry.name)}" for entry in of_family]
        rows = [[f"[`{entry.name}`]({page}.md)", entry.summary] for entry, page in zip(of_family, pages, strict=True)]
        yield f"## {family}"
        yield tables.markdown(["name", "what it is"], rows)
        yield "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def _entry(kind: str, entry: Any) -> str:
    """Return the page of one entry, which the search also finds by the name without a variant and by that in papers."""
    links = re.sub(r"\]\((?!http)", "](../", "\n".join(_section(kind, entry)))
    printed = "" if "{" in entry.printed else entry.printed
    terms = dict.fromkeys(f"! {term}" for term in (re.sub(r"\[.*", "", entry.name), printed) if term)
    members = f"\n## In Python\n\n{_members(entry.module)}" if kind == "hasher" else ""
    return f"# {links}\n\n```{{index}} {', '.join(terms)}\n```\n{members}"


def _file(name: str) -> str:
    """Return the name of an entry's file."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _section(kind: str, entry: Any) -> Iterator[str]:
    yield f"`{entry.name}`\n"
    yield f"{entry.summary}\n"
    for title, text in properties(entry):
        yield f"- {title[:1].upper()}{title[1:]}: {text.replace('``', '`')}"
    if kind in registry.PACKAGES:
        yield f"- Module: `{entry.module}`"
    if kind == "metric":
        yield from _formulas(entry.plugin)
    elif kind in registry.PACKAGES:
        yield from _options(kind, entry.name)


def _formulas(metric: Any) -> Iterator[str]:
    """Yield the formulas in the docstring of a metric."""
    described = (inspect.getdoc(getattr(metric, "func", metric)) or "").partition("\nParameters\n")[0]
    for formula in re.findall(r"^\.\. math:: (.+(?:\n +.+)*)", described, flags=re.M):
        yield f"\n$${' '.join(formula.split())}$$"


def _options(kind: str, name: str) -> Iterator[str]:
    """Yield the table of a plug-in's options."""
    found = options(kind, name).values()
    if found:
        rows = [
            [
                f"`{option.name}`",
                option.form.partition(", default")[0].replace("``", "`") or option.expected,
                "" if option.default is inspect.Parameter.empty else f"`{plain(option.default)}`",
                option.description.replace("``", "`"),
            ]
            for option in found
        ]
        yield "\n" + tables.markdown(["option", "values", "default", "description"], rows)


def _package(name: str) -> str:
    """Return the page with the public names of a package, and with those of its plug-ins' modules."""
    kinds = {kind for kind, package in registry.PACKAGES.items() if package == name} - {"split", *_FAMILIES}
    modules = [f"protocol.{name}", *sorted({entry.module for kind in kinds for entry in registry.entries(kind)})]
    further = {"hashers": _HASHER_CLASSES, "metrics": _METRIC_MODULES}.get(name, "")
    return f"# {_PACKAGES[name]}: `protocol.{name}`\n{further}\n{_members(*modules)}"


def _module(module: str) -> str:
    """Return the page with the public names of a module."""
    return f"# `{module}`\n\n{_members(module)}"


def _members(*modules: str) -> str:
    """Return directives for the public names of modules; the classes and functions in ``__all__`` have a page each."""
    directives = []
    for module in modules:
        content = importlib.import_module(module)
        public = [
            name
            for name in getattr(content, "__all__", ())
            if inspect.isroutine(at := getattr(content, name)) or inspect.isclass(at)
        ]
        index = "\n.. autosummary::\n   :toctree: generated\n   :template: base.rst\n\n" + "".join(
            f"   {name}\n" for name in public
        )
        directives.append(f".. automodule:: {module}\n{index if public else '   :members:'}")
    return "```{eval-rst}\n" + "\n\n".join(directives).rstrip() + "\n```\n"


def _configuration() -> str:
    """Return the page of the keys of a config file, from ``workflow/schemas/config.schema.yaml``."""
    file = keys()["properties"]
    sections = {
        "features.NAME": file["features"]["additionalProperties"],
        "hashers[], ground_truths[]": file["hashers"]["items"]["oneOf"][1],
        "codes.NAME": file["codes"]["additionalProperties"],
    } | {key: declared for key, declared in file.items() if "section" in declared}
    parts = [_CONFIGURATION, "## Keys\n", _table_of_keys(keys())]
    for title, part in sections.items():
        parts += [f"\n## `{title}`\n", f"{part.get('section', part['description'])}\n", _table_of_keys(part)]
    return "\n".join(parts) + "\n"


def _table_of_keys(part: Mapping[str, Any]) -> str:
    lines = ["| key | values | default | description |", "|---|---|---|---|"]
    for key, declared in part["properties"].items():
        default = "required" if key in part.get("required", ()) else _default_of(declared)
        values, description = _escaped(phrase(declared)), _escaped(declared.get("description", ""))
        lines.append(f"| `{key}` | {values} | {default} | {description} |")
    return "\n".join(lines)


def _default_of(declared: Mapping[str, Any]) -> str:
    if declared.get("default") is None:
        return ""
    value = filled(declared["default"], declared)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    return f"`{json.dumps(value)}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def _config_files() -> str:
    """Return the page with the first comment of every shipped config file."""
    root, rows = FOLDER.parents[1], []
    for path in configs().values():
        relative = path.relative_to(root).as_posix()
        rows.append([f"[`{relative}`](../../{relative})", description(path, complete=True)])
    above = (
        "The default experiment, one experiment for each kind of data in `workflow/config/`, and the experiments whose "
        "tables are stored, next to these tables in `results/reference/`. `snakemake --configfile FILE` runs one, and "
        "`protocol check FILE` prints what it would run. `protocol list configs` prints this "
        "list, also where only the package is installed, and `protocol list configs NAME > my.yaml` copies a file. "
        "[Configuration](configuration.md) describes the keys."
    )
    return "\n\n".join(["# Config files", above, tables.markdown(["file", "what it runs"], rows)]) + "\n"


def _command_line() -> str:
    """Return the page with the help of every command, 100 columns wide."""
    os.environ["COLUMNS"] = "100"
    parser = cli._parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = [
        f"## `{command.prog}`\n\n```text\n{command.format_help(everything=True)}```"
        for command in commands.choices.values()
    ]
    above = "`protocol COMMAND --help-all` prints the same text. `python -m protocol` is the same program."
    return "\n\n".join(["# Command line", above, f"```text\n{parser.format_help()}```", *helps]) + "\n"


def _claims() -> str:
    """Return the page with the totals of the claims, and the claims that do not hold."""
    above = (
        "`protocol papers` lists the claims of the papers. Each is decided by a test of this project, or by results "
        "that are compared with the printed values. This page contains the totals, and the claims of which some part "
        "does not hold. `protocol papers ID` prints a claim in full. [What the papers claim, and what "
        "holds](../explanation/claims-of-the-papers.md) describes the statuses."
    )
    stored = sorted((FOLDER.parents[1] / "results" / "reference").glob("*/*.csv"))
    entries = papers.judge(papers.Results(stored))
    return "\n\n".join(["# Claims of the papers", above, papers.ledger_markdown(entries)]) + "\n"


if __name__ == "__main__":
    for name, page in pages().items():
        file = FOLDER / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page())

"""The generated pages of docs/reference/, from the code that they describe.

python docs/generate.py
"""

import argparse
import csv
import functools
import inspect
import itertools
import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import leaderboard
from cheat_sheet import cheat_sheet, is_tie_order

from protocol import cli, papers, registry
from protocol.cli.list import entries, properties
from protocol.configuration.options import options, plain
from protocol.configuration.schema import keys, phrase, with_defaults
from protocol.shipped import configs, description
from protocol.splits import SplitProtocol

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
    "[mirror](../how-to/operations.md#use-a-mirror).",
    "feature": "Vectors that describe the items, from which hashers learn. The key `features` of a config file "
    "names them.",
    "ground_truth": "A ground truth defines the database items that are relevant to a query "
    "([explanation](../explanation/ground-truths.md)). The key `ground_truths` of a config file names ground truths.",
    "split": "A split protocol declares where the queries, the validation sets, the training set and the database "
    "come from, their sizes, and which of them may overlap ([explanation](../explanation/split-protocols.md)). The key "
    "`splits` of a config file names protocols; the key `split_sizes` states the sizes that a protocol leaves open.",
    "hasher": "A hasher learns hash functions from the training set and encodes queries and database. In a config "
    "file, `hashers` names hashers, `hasher_options` sets their options, and `hasher_grids` lists values to select "
    "from. Every hasher has the options `n_bits` and `seed`.",
    "quantiser": "A quantiser compresses vectors of real numbers. `protocol recall --quantiser NAME` compares it "
    "with binary codes at equal bytes ([guide](../how-to/measure-lost-recall.md)), with options in the form "
    "`pq:m=16`. Every hasher that learns from vectors alone is also a quantiser. In sizes, d is the dimension of the "
    "vectors.",
    "metric": "The names of metrics in config files, commands and results. K, R and beta stand for numbers: write "
    "`mAP@1000[all]` for `mAP@K[all]`, `precision@r2` for `precision@rR`, and `F0.5@r2` for `F_beta@rR`. "
    "In formulas, N is the number of relevant items (of all items for buckets) and Q the code length; a tie of n "
    "items, m of them relevant, follows S items, P of them relevant; n_r items are at distance r; |b| is the size of "
    "bucket b. See also [Ties](../explanation/ties.md) and [How counting works](../explanation/counting.md).\n\n"
    "A name without an order of ties stands for the expected value over all orders; `[best]` has relevant items first "
    "in every tie (those of the highest level before all others), `[worst]` has them last, and "
    "`[database-order]` keeps the order of the database.\n\n"
    "For a query without relevant items, or with an empty Hamming ball, some metrics are 0/0. By default, such a value "
    "counts as 0; `undefined: drop` in a config file leaves the query out of the mean.",
    "convention": "A convention describes how a paper or a tool computes its scores: which metrics, and how undefined "
    "values count. `protocol evaluate --convention NAME` applies it.",
    "finding": "The problems that `protocol audit` can find in a split. Each finding is an error, a warning or "
    "information; the same finding can be an error under one protocol and inherent in another. `protocol audit` also "
    "prints why a finding matters, and how the papers treat it.",
}
_FAMILIES = {
    "metric": {
        "Average precision": ["average_precision", "average_precision_at_r"],
        "Precision and recall of the top K": ["precision_recall_cutoff", "r_precision", "hit_rate"],
        "First relevant item": ["reciprocal_rank"],
        "Graded relevance": ["ndcg", "average_cumulative_gain", "weighted_average_precision"],
        "Hamming balls": ["precision_recall", "average_precision_in_ball", "ramap", "mlgap", "hamming_balls"],
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
}  # by the module of a metric and the package of a hasher
_LONG = 10  # words; a property of this length is not repeated
_BRIEF = ("hasher", "feature")  # whose options have only a default on their page
_PAPERS = {
    "thesis": ("Moran 2016, thesis",),
    "TALR": (
        "He et al. 2018, Hashing as Tie-Aware Learning to Rank",
        "He et al., Hashing as Tie-Aware Learning to Rank",
        "He, Cakir, Bargal and Sclaroff 2018, Hashing as Tie-Aware Learning to Rank",
    ),
    "RAMAP paper": ("Jiang, Li, Li, On the Evaluation Metric for Hashing",),
    "mLGAP paper": ("Mean Local Group Average Precision",),
    "McSherry and Najork": (
        "McSherry and Najork 2008, Computing IR Performance Measures Efficiently in the Presence of Tied Scores",
    ),
    "IDHN": (
        "Zhang et al., IDHN (Improved Deep Hashing with Soft Pairwise Similarity for Multi-label Image Retrieval)",
    ),
    "HashNet": ("Cao et al. 2017, HashNet: Deep Learning to Hash by Continuation",),
    "HABIR": ("the reference MATLAB code (HABIR toolkit)", "the reference MATLAB code"),
}  # short names of sources that many entries have; the first spelling is the one that the page explains
_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"(?:Parameters[^.]* as for|As) `(\w+)`")
_CONFIGURATION = """\
# Configuration

A config file is YAML and describes one experiment; its schema is `workflow/schemas/config.schema.yaml`. `protocol check
FILE` checks a config file and prints what would run. The option `--config KEY=VALUE` of this command and of `snakemake`
changes a key. Paths are relative to the working directory.

The keys `runs`, `splits`, `ground_truths`, `hashers`, `n_bits` and `extensions` apply to every feature. Below a
feature, they apply to that feature alone.

A plug-in may be used several times with different options
([example](../how-to/choose-options.md#options-of-hashers-features-and-ground-truths)). Each variant then needs its own
name, made of lower-case letters, digits and `_`.

A name has one meaning in the whole file: once it is defined, other lists may contain the name alone, and
`hasher_options`, `hasher_grids` and `ground_truth_options` may refer to it.
"""
_EVALUATIONS = """\
The standard evaluation ranks by Hamming distance, takes the expected value over ties, divides average precision by all
relevant items, counts a query without relevant items as 0, and takes the mean over the queries. This page lists the
differences that `protocol explain` and `protocol diagnose` know, with their weights and examples in public code. An
evaluation has at most one difference of each family, and its weight is the sum of their weights: 1 for a convention of
many tools, 2 for a rarer convention or a fault of several tools, and 3 for a fault of one tool. Measures other than
mAP, nDCG, precision and recall (AUPRC, MRR, R-precision, hit rate) weigh 1 more. mAP within a radius is divided by the
relevant items in the ball, and nDCG of several levels has one of two gains. `sklearn`, `numpy` and `torch` are
libraries, and all other sources are repositories."""


def pages() -> dict[str, Callable[[], str]]:
    """Return the functions that write the pages, by the page's name."""
    return {f"{kind.replace('_', '-')}s": functools.partial(_listed, kind) for kind in _TITLES} | {
        "command-line": _command_line,
        "configuration": _configuration,
        "config-files": _config_files,
        "claims": _claims,
        "evaluations": _evaluations,
        "cheat-sheet": lambda: cheat_sheet(_families("metric")),
        "../explanation/speed": _speed,
        "../leaderboard": leaderboard.page,
    }


def _evaluations() -> str:
    """Return a page with a list of what evaluators do differently, for each family."""
    from protocol.evaluators import VARIANTS

    parts = ["# Evaluations", _EVALUATIONS]
    for family in dict.fromkeys(family for family, _ in VARIANTS):
        lines = [
            f"- `{name}` ({variant.weight}): {variant.text}"
            + (f"; {'; '.join(variant.sources)}" if variant.sources else "")
            for (of_family, name), variant in VARIANTS.items()
            if of_family == family
        ]
        parts += [f"## {family.capitalize()}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _listed(kind: str) -> str:
    """Return the page of a kind: what most entries have in common, and a section for each entry or group of them."""
    fields = {entry.name: _fields(kind, entry) for entry in entries(kind)}
    texts = [text for of_entry in fields.values() for text in of_entry.values()]
    papers_of_page = {
        name: spellings
        for name, spellings in _PAPERS.items()
        if sum(any(spelling in text for spelling in spellings) for text in texts) > 2
    }
    for of_entry in fields.values():
        of_entry.update({title: _shortened(text, papers_of_page) for title, text in of_entry.items()})
    usual = _usual(list(fields.values()))
    parts = [f"# {_TITLES[kind]}", _ABOVE[kind], f"`protocol list {kind}s NAME` describes one in full."]
    if papers_of_page:
        named = (f"{name}: *{first}*" for name, (first, *_) in papers_of_page.items())
        parts.append(f"Sources with short names: {'; '.join(named)}.")
    parts += [f"Unless an entry states otherwise:\n\n{_lines(usual)}"] if usual else []
    if kind == "metric":  # for the search, which splits such names
        bases = dict.fromkeys(entry.name.partition("[")[0] for entry in entries(kind))
        parts.append(f"```{{index}} {', '.join(f'!{base}' for base in bases if '@' in base)}\n```")
    described: dict[str, str] = {}  # options and formulas, with the first entry that has them
    for family, members in _families(kind).items():
        parts += [f"## {family}"] if family else []
        common = _common(members, fields, usual) if family else {}
        deviations = common.pop("deviations", "")
        parts += [f"In this section, unless an entry states otherwise:\n\n{_lines(common)}"] if common else []
        parts += [f"Further deviations of all of these: {deviations}."] if deviations else []
        if family and kind in _BRIEF:
            of_all = _shared_options(kind, members)
            parts += [f"Options of all of these: {'; '.join(of_all.values())}."] if of_all else []
            described |= dict.fromkeys(of_all, "")
        earlier: dict[str, str] = {}  # deviations, with the first entry of the section that has them
        for entry in members:
            fields[entry.name] = _unusual(fields[entry.name], usual | common, deviations)
            if kind == "hasher":
                fields[entry.name] |= _abridged(entry.name, fields[entry.name].get("deviations", ""), earlier)
        heading = "###" if family else "##"
        parts += [f"{heading} {_section(kind, group, fields, described)}" for group in _groups(kind, members)]
    return "\n\n".join(parts) + "\n"


def _fields(kind: str, entry: Any) -> dict[str, str]:
    """Return the fields of an entry that its page contains."""
    fields = dict(properties(entry))
    names = _plain(entry.name), _plain(entry.summary.partition(":")[0])
    if kind == "metric":
        fields.pop("needs", None)
    if kind == "metric" or _plain(fields.get("printed", "")) in names:
        fields.pop("printed", None)
    if kind == "metric":
        fields["range"] = fields["range"].replace(", ", " to ")
    if re.search(rf"divided by (the )?{re.escape(fields.get('denominator', '?'))}", entry.summary):
        fields.pop("denominator")
    for title in {"finding": ["consequence", "treatment"], "convention": ["reported as map"]}.get(kind, ()):
        fields.pop(title, None)
    if kind == "split" and entry.plugin.n_items:  # the summary contains the sizes
        partitions = [part.replace("_", " ") for part in entry.plugin.partitions]
        fields = {title: text for title, text in fields.items() if title not in partitions}
    return fields


def _shortened(text: str, papers_of_page: Mapping[str, Sequence[str]]) -> str:
    """Return a text with the short names of papers."""
    for name, spellings in papers_of_page.items():
        for spelling in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelling, name)
    return text


def _unusual(fields: Mapping[str, str], expected: Mapping[str, str], deviations: str) -> dict[str, str]:
    """Return the fields of an entry that its page has not stated yet."""
    unusual = {title: text for title, text in fields.items() if expected.get(title) != text}
    if deviations:
        unusual["deviations"] = fields["deviations"].removeprefix(f"{deviations}. ")
    return unusual


def _usual(fields: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the values that many entries share, of the properties that all entries of a kind (with a cutoff) have."""
    usual = {}
    for title in dict.fromkeys(title for one in fields for title in one):
        (value, n), *_ = Counter(one[title] for one in fields if title in one).most_common(1)
        if n >= max(4, len(fields) / 4) and (title == "beyond" or all(title in one for one in fields)):
            usual[title] = value
    return usual


def _abridged(name: str, deviations: str, earlier: dict[str, str]) -> dict[str, str]:
    """Return the deviations of an entry with the name of an earlier one in place of what the two have in common."""
    for text, other in earlier.items():
        if deviations.startswith(text):
            return {"deviations": f"As for [`{other}`](#{other}).{deviations.removeprefix(text)}"}
    if not deviations:
        return {}
    earlier[deviations] = name
    return {"deviations": deviations}


def _shared_options(kind: str, members: Sequence[Any]) -> dict[str, str]:
    """Return the options that all entries of a section have alike, if there are three or more entries."""
    of_members = [{f"{shown}: {text}": shown for _, shown, text in _options(kind, entry.name)} for entry in members]
    alike = set.intersection(*map(set, of_members)) if len(members) > 2 else set()
    return {key: shown for key, shown in of_members[0].items() if key in alike}


def _plain(name: str) -> str:
    return re.sub(r"\W|_", "", name.lower())


def _common(
    members: Sequence[Any], fields: Mapping[str, Mapping[str, str]], usual: Mapping[str, str]
) -> dict[str, str]:
    """Return what most members of a family share, and the sentences with which all their deviations begin."""
    if len(members) < 3:
        return {}
    of_members = [fields[entry.name] for entry in members]
    common = {}
    for title in of_members[0]:
        (value, n), *_ = Counter(one.get(title, "") for one in of_members).most_common(1)
        if n > max(2, len(members) / 2) and all(title in one for one in of_members):
            common[title] = value
    least, greatest = (extreme(one.get("deviations", "") for one in of_members) for extreme in (min, max))
    shared = [a for a, b in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(least, greatest, strict=False))]
    common["deviations"] = "".join(shared).rpartition(". ")[0]
    return {title: text for title, text in common.items() if text and usual.get(title) != text}


def _families(kind: str) -> dict[str, list[Any]]:
    """Return the entries of a kind by family; there is one without a name if the kind has none."""
    if kind not in _FAMILIES:
        return {"": list(entries(kind))}
    position = -1 if kind == "metric" else -2  # of the part of the module's path that defines the family
    family_of = {part: family for family, parts in _FAMILIES[kind].items() for part in parts}
    members: dict[str, list[Any]] = {family: [] for family in _FAMILIES[kind]}
    for entry in entries(kind):
        members.setdefault(family_of.get(entry.module.split(".")[position], "Others"), []).append(entry)
    return members


def _groups(kind: str, members: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the variants of each metric together, and all other entries alone."""
    groups: dict[str, list[Any]] = {}
    for entry in members:
        groups.setdefault(entry.name.partition("[")[0] if kind == "metric" else entry.name, []).append(entry)
    yield from groups.values()


def _section(
    kind: str, group: Sequence[Any], fields: Mapping[str, Mapping[str, str]], described: dict[str, str]
) -> str:
    """Return the heading and the text of one entry, or of the variants of a metric."""
    orders = [entry.name for entry in group if kind == "metric" and is_tie_order(entry)]
    group = [entry for entry in group if entry.name not in orders]
    first = group[0]
    common = set.intersection(*(set(fields[entry.name].items()) for entry in group))
    shared = {title: text for title, text in fields[first.name].items() if (title, text) in common}
    if len(group) == 1:
        parts = [f"`{first.name}`", _summary(first)]
    else:
        parts = [f"`{first.name.partition('[')[0]}`", ""]
        for entry in group:
            own = dict(item for item in fields[entry.name].items() if item not in common)
            lines = _lines(_referring(own, entry.name, described)).splitlines()
            sentences = [f"{line.removeprefix('- ').rstrip('.')}." for line in lines]
            parts[1] += f"- `{entry.name}`: {' '.join([_summary(entry), *sentences])}\n"
    shared |= {"further orders of ties": ", ".join(f"`{name}`" for name in orders)} if orders else {}
    listed = [_lines(_referring(shared, first.name, described))] if shared else []
    if kind == "finding":
        return "\n\n".join([parts[0], f"{parts[1]} {' '.join(_property(*item) for item in shared.items())}"])
    if kind in registry.REGISTRIES and kind != "metric":
        lines = _option_lines(kind, first.name, described)
        listed += [f"- Options:{' ' + lines[4:] if kind in _BRIEF else chr(10) + lines}"] if lines else []
    parts += ["\n".join(listed)] if listed else []
    if kind == "metric":
        formulas = dict.fromkeys(formula for entry in group for formula in _formulas(entry.plugin))
        origins = {described.setdefault(formula, first.name) for formula in formulas}
        parts += [formula for formula in formulas if described[formula] == first.name]
        parts += [f"Formulas: as for `{origin}`." for origin in sorted(origins - {first.name})]
    return "\n\n".join(part.strip("\n") for part in parts)


def _referring(fields: Mapping[str, str], name: str, described: dict[str, str]) -> dict[str, str]:
    """Return the properties of an entry, with the name of an earlier entry in place of a long text of both."""
    return {
        title: text
        if len(text.split()) < _LONG or (earlier := described.setdefault(f"{title}: {text}", name)) == name
        else f"as for `{earlier}`"
        for title, text in fields.items()
    }


def _summary(entry: Any) -> str:
    """Return the summary of an entry, without the order of ties of most metrics, which the page states above."""
    return str(entry.summary).replace(", as the expected value over ties", "")


def _lines(fields: Mapping[str, str]) -> str:
    """Return a list of properties; those with the same text share a line."""
    titles: dict[str, list[str]] = {}
    for title, text in fields.items():
        titles.setdefault(text, []).append(title)
    return "\n".join(f"- {_property(', '.join(of), text)}" for text, of in titles.items())


def _property(title: str, text: str) -> str:
    return f"{title[:1].upper()}{title[1:]}: {text.replace('``', '`')}"


def _formulas(metric: Any) -> Iterator[str]:
    """Yield the formulas in the docstring of a metric."""
    described = (inspect.getdoc(getattr(metric, "func", metric)) or "").partition("\nParameters\n")[0]
    for formula in re.findall(r"^\.\. math:: (.+(?:\n +.+)*)", described, flags=re.M):
        yield f"$${' '.join(formula.split())}$$"


def documented(kind: str, name: str) -> dict[str, tuple[str, str]]:
    """Return the form and the description of each option of a plug-in, from its docstring."""
    plugin = registry.get(kind, name)
    if kind == "split":
        form, text = "str or None, default None", "File that lists the items of the partition, as ids or row numbers."
        declared = _parameters(SplitProtocol, kind)
        return dict.fromkeys(plugin.listed, (form, text)) | {option: declared[option] for option in plugin.options}
    parameters = _parameters(plugin, kind)
    return {option: parameters.get(option, ("", "")) for option in options(kind, name)}


def _parameters(plugin: Any, kind: str) -> dict[str, tuple[str, str]]:
    """Return the forms and descriptions of the parameters in a docstring.

    Missing ones are taken from base classes, and from the plug-in to whose parameters the docstring refers.
    """
    described: dict[str, tuple[str, str]] = {}
    if referred := _REFERENCE.search(plugin.__doc__ or ""):
        plugins = (record.plugin for record in registry.entries(kind) if record.plugin is not plugin)
        for other in (other for other in plugins if getattr(other, "__name__", "") == referred[1]):
            described |= _parameters(other, kind)
    for source in reversed(plugin.__mro__ if inspect.isclass(plugin) else [plugin]):
        for section in _PARAMETERS.findall(inspect.cleandoc(source.__doc__ or "")):
            for head, *text in (block.split("\n") for block in re.split(r"\n(?=\S)", section.strip())):
                names, _, form = head.partition(" : ")
                described |= dict.fromkeys(re.split(r",\s*", names), (form, " ".join(" ".join(text).split())))
    return described


def _options(kind: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each option of a plug-in, with its default and values, and a sentence about it."""
    texts = documented(kind, name)
    for title, option in options(kind, name).items():
        form, description = texts[title]
        values = form.partition(", default")[0].replace("``", "`") or option.expected
        default = "" if option.default in (inspect.Parameter.empty, None) else f"={plain(option.default)}"
        shown = f"`{title}{default}`"
        if not default or values not in ("int", "float", "str", "bool"):  # which the default shows
            shown += f" ({values})"
        yield title, shown, re.split(r"(?<=[.;])\s", description.replace("``", "`"))[0].rstrip(".;")


def _option_lines(kind: str, name: str, described: dict[str, str]) -> str:
    """Return a plug-in's options with their defaults, and with a sentence each unless the kind is `_BRIEF`.

    Those that an earlier entry has are only named, and those that the section describes (an empty name) are left out.
    """
    own, alike, repeated = list[str](), dict[str, list[str]](), dict[str, list[str]]()
    for title, shown, text in _options(kind, name):
        earlier = described.setdefault(f"{shown}: {text}", name)
        if earlier and earlier != name:
            repeated.setdefault(earlier, []).append(f"`{title}`")
        elif earlier and kind in _BRIEF:
            own.append(shown)
        elif earlier:
            alike.setdefault(text, []).append(shown)
    own += [f"{', '.join(names)} as for [`{earlier}`](#{earlier})" for earlier, names in repeated.items()]
    lines = [f"  - {', '.join(names)}: {text}" for text, names in alike.items()]
    return "\n".join([*lines, f"  - {'; '.join(own)}"] if own else lines)


def _configuration() -> str:
    """Return the page of the keys of a config file, from ``workflow/schemas/config.schema.yaml``."""
    file = keys()["properties"]
    sections = {
        "features.NAME": file["features"]["additionalProperties"],
        "hashers[], ground_truths[]": file["hashers"]["items"]["anyOf"][1],
        "codes.NAME": file["codes"]["additionalProperties"],
    } | {key: declared for key, declared in file.items() if "section" in declared}
    parts = [_CONFIGURATION, "## Keys\n", _list_of_keys(keys(), {})]
    for title, part in sections.items():
        parts += [f"\n## `{title}`\n", f"{part.get('section', part['description'])}\n", _list_of_keys(part, file)]
    return "\n".join(parts) + "\n"


def _list_of_keys(part: Mapping[str, Any], of_file: Mapping[str, Any]) -> str:
    """Return a list of the keys of a part of the file; those that are described as keys of the file come last."""
    lines, repeated = [], []
    for key, declared in part["properties"].items():
        text = declared.get("description", "")
        if text and text == of_file.get(key, {}).get("description"):
            repeated.append(f"`{key}`")
            continue
        text = f"See [below](#{key})." if "section" in declared else text
        default = "required" if key in part.get("required", ()) else _default_of(declared)
        facts = "; ".join(
            fact
            for fact in (_escaped(phrase(declared).removeprefix("a non-empty ")), default)
            if fact not in ("", "a mapping", "mapping")
        )
        lines.append(f"- `{key}`{facts and f' ({facts})'}: {_escaped(text)}")
    if repeated:
        lines.append(f"- {', '.join(repeated)}: as for the file.")
    return "\n".join(lines)


def _default_of(declared: Mapping[str, Any]) -> str:
    if declared.get("default") is None:
        return ""
    value = with_defaults(declared["default"], declared)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item not in (None, {})}
    return f"default `{json.dumps(value)}`" if value != {} else ""


def _escaped(text: str) -> str:
    return " ".join(text.replace("<", "&lt;").replace(">", "&gt;").split())


def _config_files() -> str:
    """Return the page with the first sentence about every shipped config file."""
    root = FOLDER.parents[1]
    lines: list[str] = []
    stored: list[str] = []
    for path in configs().values():
        relative = path.relative_to(root).as_posix()
        name = path.name if relative.startswith(("config/", "workflow/")) else f"{path.parent.name}/{path.name}"
        link = f"[`{name}`](../../{relative})"
        if relative.startswith("results/"):
            stored.append(link)
        else:
            lines.append(f"- {link}: {re.split('(?<=[.;]) ', description(path))[0].rstrip('.;')}")
    above = (
        "The default experiment, and one experiment for each kind of data. `snakemake --configfile FILE` runs one, and "
        "`protocol check FILE` prints what it would run. `protocol list configs` describes all files, also where only "
        "the package is installed, and `protocol list configs NAME > my.yaml` copies a file."
    )
    below = f"The tables of these experiments are stored next to them, in `results/reference/`: {', '.join(stored)}."
    return "\n\n".join(["# Config files", above, "\n".join(lines), below]) + "\n"


_GUIDES = {
    "evaluate": "score-your-own-codes",
    "recall": "measure-lost-recall",
    "audit": "audit-a-split",
    "find-duplicates": "find-near-duplicates",
    "verify": "check-a-result",
    "explain": "explain-a-score",
    "diagnose": "explain-a-score",
    "compare": "compare-results",
    "papers": "figures-and-tables",
    "init": "run-on-your-own-data",
    "check": "choose-options",
    "run": "operations",
}
_AFTER_OPTIONS = ("exit status",)  # other pages contain the other paragraphs
_HELP = re.compile(r"  -h, --help .*\n(?:   .*\n)*|  --help-all .*\n(?:   .*\n)*")
_COMMAND_LINE = """\
`python -m protocol` is the same program. The options that several commands share are described once, at the first of
them. [Lists, labels and codes as input](lists.md) describes the formats of files. `protocol COMMAND --help` prints the
common options of a command with examples, and `--help-all` everything, also how to read the output. `protocol --debug
COMMAND` prints the full traceback of an error. Text on a terminal has its width, from 80 to 140 columns, and colours,
unless the environment variable `NO_COLOR` is set."""


def _command_line() -> str:
    """Return the page with the help of every command, 100 columns wide, without what earlier commands describe."""
    os.environ["COLUMNS"] = "100"
    parser = cli._parser(everything=True)
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    described: dict[str, str] = {}  # options and paragraphs, by the first command that has them
    parts = ["# Command line", _COMMAND_LINE]
    for command in commands.choices.values():
        guide = _GUIDES.get(command.prog.split()[-1])
        parts += [f"## `{command.prog}`", f"```text\n{_help(command, described)}\n```"]
        parts += [f"[Guide](../how-to/{guide}.md)"] if guide else []
    return "\n\n".join(parts) + "\n"


def _help(command: Any, described: dict[str, str]) -> str:
    """Return the help of a command without its examples and the options that earlier commands describe."""
    shown, repeated, options_begun = [], dict[str, list[str]](), False
    for paragraph in command.format_help().strip().split("\n\n"):
        title, _, body = paragraph.partition("\n")
        if not re.fullmatch(r"(?:  -.*\n(?:   .*\n)*)+", f"{body}\n"):  # prose, the usage, or a positional argument
            generated = paragraph.startswith("usage:") and " [-h]" in paragraph
            if not generated and (not options_begun or title.rstrip(":") in _AFTER_OPTIONS):
                shown.append(paragraph)
            continue
        options_begun = True
        remaining = []
        for entry in re.findall(r"^  -.*\n(?:   .*\n)*", _HELP.sub("", f"{body}\n"), re.M):
            earlier = described.setdefault(" ".join(entry.split()), command.prog)
            if earlier == command.prog:
                remaining.append(entry)
            else:
                repeated.setdefault(earlier, []).append(re.split(r"[ ,]", entry.strip())[0])
        if remaining:
            shown.append(f"{title}\n{''.join(remaining).rstrip()}")
    for earlier, names in repeated.items():
        shown.append(f"as for `{earlier}`:\n  {_wrapped(names)}")
    return "\n\n".join(shown)


def _wrapped(words: Sequence[str]) -> str:
    return "\n  ".join(textwrap.wrap(", ".join(words), 96, break_on_hyphens=False))


def _claims() -> str:
    """Return the page with the number of claims of each status, and the claims that do not hold."""
    stored = sorted((FOLDER.parents[1] / "results" / "reference").glob("*/*.csv"))
    of_status: dict[str, list[Mapping[str, Any]]] = {status: [] for status in papers.STATUSES}
    for entry in papers.ledger(papers.Results(stored)):
        of_status[entry["status"]].append(entry)
    totals = ", ".join(f"{len(of)} {status}" for status, of in of_status.items() if of)
    n_claims = sum(map(len, of_status.values()))
    above = (
        f"The [status](../explanation/claims-of-the-papers.md) of {n_claims} claims, according to the stored results: "
        f"{totals}. `protocol papers` lists all, and `protocol papers ID` prints one in full. These do not hold:"
    )
    parts = ["# Claims of the papers", above]
    for status in ("refuted", "not replicated", "not replicated on a substitute", "some parts fail"):
        lines = []
        for entry in of_status[status]:
            held = entry["parts"].partition("; ")[0]
            lines.append(f"- `{entry['id']}`: {held if held and status == 'some parts fail' else entry['claim']}")
        parts += [f"## {status.capitalize()}", "\n".join(lines)] if lines else []
    of_dataset: dict[str, dict[str, list[str]]] = {}
    for table in papers.all_tables():
        metric, paper = table["metric"].partition(";")[0], re.split(r" \(|, ", table["paper"])[0]
        known = [
            name for name in re.findall(r"\w+", table["split"].partition(": ")[0]) if name in registry.names("split")
        ]
        names = f"{paper} ({', '.join(known)})" if known else paper
        of_dataset.setdefault(table["dataset"], {}).setdefault(f"`{metric}`", []).append(names)
    lines = []
    for dataset, of_metric in of_dataset.items():
        in_tables = (f"{metric} in {', '.join(names)}" for metric, names in of_metric.items())
        lines.append(f"- {dataset}: {'; '.join(in_tables)}")
    parts += ["## Printed tables", _PRINTED, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


_PRINTED = (
    "What tables print as mAP, as far as papers or public code state it. `protocol papers mAP@5000` also prints ties, "
    "undefined values and sources, for any spelling, dataset or method."
)
_SPEED = {
    "counting": "Histograms of all and of relevant items: 1,000 queries x 59,000 items, 10 classes. Each call alone, "
    "in a process that has loaded the compiled code, which happens after a few such calls. *Distances only* makes no "
    "histogram. Seconds are CPU time, and wall time with two threads.",
    "evaluate": "The whole command `protocol evaluate`: 10,000 queries x 59,000 items of 64 bits, five metrics with "
    "the range of mAP. The others compute mAP alone, from fewer queries. Their CPU time is multiplied, and does not "
    "contain their imports. The argsort script is the product and the sort for each query of most published code.",
    "planning": "`snakemake -n` for ten runs of 30 hashers at six code lengths, and for a Snakefile with as many jobs "
    "without inputs. Seconds are CPU time.",
    "experiment": "`snakemake --cores 2`: the default experiment in a fresh clone, and a Snakefile with as many jobs "
    "that only import NumPy and h5py. Seconds are CPU time.",
}
"""What each part of the table of `tests/benchmarks/side_by_side.py` measures."""


def _speed_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return a row for each contender."""
    lines = ["| ratio | contender | seconds |", "| --: | --- | --: |"]
    return "\n".join([*lines, *(f"| {row['ratio']} | {row['contender']} | {row['seconds']} |" for row in rows)])


def _counting_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return a row for each number of bits and of threads, with the ratio of each contender."""
    others = [*dict.fromkeys(row["contender"] for row in rows if row["contender"] != "protocol")]
    lines = [
        f"| bits | threads | {' | '.join(others)} | seconds of protocol |",
        "| --: |" + " --: |" * (len(others) + 2),
    ]
    for (bits, threads), of in itertools.groupby(rows, lambda row: (row["bits"], row["threads"])):
        by_contender = {row["contender"]: row for row in of}
        ratios = " | ".join(by_contender[name]["ratio"] for name in others)
        lines.append(f"| {bits} | {threads} | {ratios} | {by_contender['protocol']['seconds']} |")
    return "\n".join(lines)


def _speed() -> str:
    """Return the page with the times of this project and of others."""
    folder = FOLDER.parents[1] / "results" / "reference" / "speed"
    machine = json.loads((folder / "machine.json").read_text())
    with open(folder / "speed.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    above = (
        f"`python tests/benchmarks/side_by_side.py` measured this table on {machine['cpu']} ({machine['cores']} cores; "
        f"{machine['date']}; load average {machine['load']}; {versions}). "
        "The ratio is the time of the other divided by that of `protocol`: above 1, `protocol` is faster. "
        "Seconds move with the machine; ratios move less."
    )
    left_out = ", ".join(machine["left_out"])
    parts = ["# Speed, side by side", above, *([f"Left out: {left_out}."] if left_out else [])]
    for part, text in _SPEED.items():
        own = [row for row in rows if row["part"] == part]
        if own:
            table = _counting_table(own) if part == "counting" else _speed_table(own)
            parts += [f"## {part.capitalize()}", textwrap.fill(text, 120), table]
    return (
        "\n\n".join([parts[0], *(textwrap.fill(one, 120, break_on_hyphens=False) for one in parts[1:2]), *parts[2:]])
        + "\n"
    )


if __name__ == "__main__":
    for name, page in pages().items():
        (FOLDER / f"{name}.md").write_text(page())

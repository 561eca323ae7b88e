"""The explanation of one name that `protocol list` prints: description, properties, options, source and an example."""

import dataclasses
import inspect
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from protocol import registry
from protocol.checks import missing_extra, one_of
from protocol.cli._formulas import plain
from protocol.pages import OF_KIND

if TYPE_CHECKING:
    from protocol.auditing import Kind
    from protocol.evaluation import Convention
    from protocol.splits import SplitProtocol

_WIDTH = 100
_NOT_SHOWN = (
    "name",
    "summary",
    "template",
    "source",
    "plugin",
    "module",
    "files",
    "statistics",
    "treatment",
    "check",
)
_TITLES = {
    "range": "range of values",
    "better": "better values",
    "relevant": "relevant items",
    "empty": "undefined values",
    "beyond": "large K or R",
    "extra": "optional dependency",
    "size": "bytes of a vector",
    "reported_as_map": "reported as mAP",
    "drops": "undefined values left out of",
    "not_copied": "differs from the original",
    "fix": "how to fix it",
    "printed": "name in papers",
}
_LETTERS = {"radius": "R", "cutoff": "K", "beta": "beta"}  # of a metric's parameters, as in its name
_HEADING = re.compile(r"^\S[^\n]*\n-{3,}$", re.MULTILINE)
_INHERITED = re.compile(r"\s*Parameters[^.:]* those\s+of\s[^.:]*[.:]")
_FORMULA = re.compile(r"\.\. math::\s+((?:.+\n?)+)")
_EVALUATE = (
    "protocol evaluate --query-codes q.npy --database-codes d.npy --query-labels q.csv --database-labels d.csv {}"
)
_VECTORS = (
    "protocol evaluate --query-codes q.npy --database-codes d.npy --query-vectors qv.npy --database-vectors dv.npy "
    "--neighbours 10 {}"
)
_AUDIT = "protocol audit --query q.txt --database d.txt --train t.txt {}"


def files(dataset: Any) -> str:
    """Return the names of a dataset's files, with instructions for those that must be obtained by hand."""
    by_instruction: dict[str, list[str]] = {}
    for file in dataset.files:
        by_instruction.setdefault(file.by_hand, []).append(file.name)
    parts = [", ".join(names) + (f" (by hand: {how})" if how else "") for how, names in by_instruction.items()]
    return "; ".join(parts) or "none to download"


def entries(kind: str) -> "Iterator[registry.Record | Convention | Kind]":
    """Yield the plug-ins of a kind, the findings or the conventions."""
    if kind in registry.PACKAGES:
        yield from registry.entries(kind)
    elif kind == "finding":
        from protocol.auditing import KIND_OF

        yield from KIND_OF.values()
    else:
        from protocol.evaluation import CONVENTIONS

        yield from CONVENTIONS


def explanation(kind: str, name: str) -> str:
    """Return the explanation of one name.

    Parameters
    ----------
    kind : str
        A kind of plug-in, ``"finding"`` or ``"convention"``.
    name : str
        A name that `protocol list` prints; a metric may have numbers in place of K and R.

    Raises
    ------
    ProtocolError
        If there is no such name; the message lists the closest ones.
    """
    entry = _entry(kind, name)
    sections = [
        f"{kind.replace('_', ' ')} {name}",
        *_description(entry),
        "\n".join(_lines(properties(kind, entry))),
        "\n".join(_options(kind, name)),
        f"example:\n  {_example(kind, name, entry)}",
        f'more: "{OF_KIND[kind]}" in the documentation',
    ]
    return "\n\n".join(section for section in sections if section)


def _entry(kind: str, name: str) -> Any:
    if kind in registry.PACKAGES:
        return registry.entry(kind, name)
    by_name = {entry.name: entry for entry in entries(kind)}
    return by_name[one_of(name, by_name, kind, listing=f"protocol list {kind}s")]


def _description(entry: Any) -> Iterator[str]:
    """Yield the summary, and the paragraphs of the docstring that explain a plug-in, with formulas as plain text."""
    yield textwrap.fill(entry.summary, _WIDTH)
    plugin = getattr(entry, "plugin", None)
    plugin = getattr(plugin, "func", plugin)  # a metric may be a functools.partial
    if not (inspect.isfunction(plugin) or inspect.isclass(plugin)):
        return
    text = _HEADING.split(inspect.getdoc(plugin) or "", maxsplit=1)[0]
    for paragraph in re.split(r"\n\s*\n", text)[1:]:
        formula = _FORMULA.fullmatch(paragraph.strip())
        if formula:
            yield textwrap.fill(plain(formula[1]), _WIDTH, initial_indent="    ", subsequent_indent="    ")
        elif words := _INHERITED.sub("", paragraph.replace("``", "")).strip():
            yield textwrap.fill(words, _WIDTH, break_on_hyphens=False)


def properties(kind: str, entry: Any) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each declared property, and the source."""
    if kind == "finding":
        yield "consequence", entry.consequence
    for field in dataclasses.fields(entry):
        value = getattr(entry, field.name)
        if field.name not in _NOT_SHOWN and value not in ("", (), None):
            words = re.sub(r"\{(\w+)[^}]*\}", lambda place: _LETTERS[place[1]], _words(value))
            yield _TITLES.get(field.name, field.name.replace("_", " ")), words
    yield from _computed(kind, entry)
    yield ("treatment in the papers" if kind == "finding" else "source"), entry.source


def _computed(kind: str, entry: Any) -> Iterator[tuple[str, str]]:
    """Yield the properties that no field of an entry declares."""
    match kind:
        case "metric":
            from protocol.evaluation import CONVENTIONS

            yield "computed with", _call(entry)
            used = [rules.name for rules in CONVENTIONS if any(registry.entry(kind, m) is entry for m in rules.metrics)]
            yield "conventions", ", ".join(used) or "none"
        case "dataset":
            yield "files", files(entry)
        case "split":
            yield from ((part.replace("_", " "), _partition(part, entry.plugin)) for part in entry.plugin.partitions)


def _partition(part: str, split: "SplitProtocol") -> str:
    """Return in words which items a partition of a split contains."""
    from protocol.splits import Drawn, Listed, Official, SameAs

    match items := split.partitions[part]:
        case Drawn(size=int(size)):
            return f"{size:,} items drawn at random, balanced over the classes"
        case Drawn(per_class=int(size)):
            return f"{size:,} items of each class drawn at random"
        case Drawn():
            return "items drawn at random; the key split_sizes of the config file sets their number"
        case Official():
            return f"the official split {items.part!r}, {items.size:,} items"
        case Listed():
            return f"the items in your own file{'' if items.required else ' (optional)'}"
        case SameAs():
            return f"the same items as in the partition {items.part!r}"
    others = ", ".join(split.database_without).replace("_", " ") or "no partition"
    return "all items except those of " + re.sub(", ([^,]*)$", r" and \1", others)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple) and all(isinstance(item, int | float) for item in value):
        return " to ".join(f"{item:g}" for item in value)
    return (" " if str(value[0]).endswith(".") else ", ").join(value) if isinstance(value, tuple) else str(value)


def _call(metric: registry.MetricRecord) -> str:
    """Return the call of a metric's function, with the defaults of its options and K, R and beta from the name."""
    parameters = inspect.signature(metric.plugin).parameters.values()
    defaults = {option.name: repr(option.default) for option in parameters if option.kind is option.KEYWORD_ONLY}
    marks = {"@K": {"cutoff": "K"}, "@rR": {"radius": "R"}, "F_beta": {"beta": "beta"}}
    for mark, number in marks.items():
        defaults |= number if mark in metric.name else {}
    function = getattr(metric.plugin, "func", metric.plugin)
    return f"{function.__name__}({', '.join(f'{option}={value}' for option, value in defaults.items())})"


def _lines(properties: Iterable[tuple[str, str]]) -> Iterator[str]:
    for title, text in properties:
        yield from textwrap.wrap(
            f"{title}: {text}", _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )


def _options(kind: str, name: str) -> Iterator[str]:
    """Yield lines about the options of a plug-in: name, allowed values, default and description."""
    if kind not in registry.PACKAGES or kind == "metric":
        return
    try:
        from protocol.configuration.options import options, plain
    except ModuleNotFoundError as error:
        reason = missing_extra(error)
        if reason is None:
            raise
        yield f"options: {reason}"
        return
    declared = options(kind, name).values()
    yield "options:" if declared else "options: none"
    for option in declared:
        form = option.form or option.expected
        yield f"  {option.name}: {form}" + ("" if "default" in form else f", default {plain(option.default)}")
        yield from textwrap.wrap(
            option.description, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4, break_on_hyphens=False
        )


def _example(kind: str, name: str, entry: Any) -> str:
    """Return a command that uses a name."""
    match kind:
        case "metric":
            requested = name.replace("@K", "@10").replace("@rR", "@r2").replace("F_beta", "F0.5")
            command = _VECTORS if entry.relevant else _EVALUATE
            return command.format(f"--metric {shlex.quote(requested)}")
        case "convention":
            return _EVALUATE.format(f"--convention {name} --spread")
        case "finding":
            return _AUDIT.format("--json findings.json")
        case "split":
            return _AUDIT.format(f"--protocol {name}")
        case "dataset":
            return "protocol check" + ("" if name == "digits" else f" workflow/config/{name}.yaml")
        case "quantiser":
            return f"protocol quantisation --query-vectors qv.npy --database-vectors dv.npy --quantiser {name}"
        case "feature":
            change = f"features={{{name}: {{}}}}"
        case _:
            change = f"{kind}s=[{name}]"
    return f"protocol check {_configuration(kind, entry)}--config {shlex.quote(change)}"


def _configuration(kind: str, entry: Any) -> str:
    """Return a shipped config file whose experiment can use a plug-in; "" if the default experiment can."""
    if ".cross_modal" in entry.module:
        return "workflow/config/wiki_cross.yaml "
    if kind == "feature" and entry.plugin().reads != "images":
        texts = entry.plugin().reads == "texts"
        return f"workflow/config/{'newsgroups20' if texts else 'synthetic'}.yaml "
    return ""

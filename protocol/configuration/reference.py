"""The reference page of the configuration, generated from the declarations in `schema`."""

import json
from collections.abc import Mapping
from typing import Any

from protocol.configuration.schema import Keys, phrase, resolved

_ABOVE = """\
# Configuration

A config file is YAML and describes one experiment. This page is generated from the declarations against which config
files are checked.

`protocol check FILE` checks a config file and prints what would run. The option `--config KEY=VALUE` of this command
and of `snakemake` changes a key. `protocol list` lists the plug-ins, and `protocol list hashers itq` explains one of
them with its options.

The keys `runs`, `splits`, `ground_truths`, `hashers`, `n_bits` and `extensions` apply to every feature. Below a
feature, they apply to that feature alone.

A plug-in may be used several times with different options. Each use then needs a different name, made of lower-case
letters, digits and `_`:

```yaml
hashers: [lsh, itq, {name: itq_5, use: itq, options: {n_iter: 5}}]
features:
  gist: {}
  gist_small: {use: gist, options: {image_size: 16}}
```

A name has one meaning in the whole file: once it is defined, other lists may contain the name alone, and
`hasher_options`, `hasher_grids` and `ground_truth_options` may refer to it.
"""
_SECTIONS = {
    "features.NAME": "FeatureKeys",
    "hashers[], ground_truths[]": "PluginUse",
    "names": "DisplayNames",
    "split_sizes": "SplitSizes",
    "selection": "Selection",
    "codes.NAME": "FinishedCodesKeys",
    "paper": "PaperKeys",
    "leak": "Leak",
}


def page() -> str:
    """Return the reference page as Markdown."""
    schema = Keys.model_json_schema()
    parts = [_ABOVE, "## Keys\n", _table(schema, schema)]
    for title, name in _SECTIONS.items():
        part = schema["$defs"][name]
        parts += [f"\n## `{title}`\n", f"{part['description']}\n", _table(part, schema)]
    return "\n".join(parts) + "\n"


def _table(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    lines = ["| key | values | default | description |", "|---|---|---|---|"]
    for key, declared in part["properties"].items():
        node = _stated(declared, schema)
        default = "required" if key in part.get("required", []) else _default(declared)
        text = declared.get("description") or node.get("description", "")
        lines.append(f"| `{key}` | {_cell(phrase(node, schema))} | {default} | {_cell(text)} |")
    return "\n".join(lines)


def _stated(declared: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a key, or the schema of its value if the key may be absent."""
    forms = [form for form in declared.get("anyOf", []) if form.get("type") != "null"]
    absent = len(forms) == 1 and declared.get("default", "") is None
    return resolved(forms[0], schema) if absent else declared


def _default(declared: Mapping[str, Any]) -> str:
    value = declared.get("default")
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    return "" if value is None else f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")

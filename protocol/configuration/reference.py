"""The reference page of the configuration, generated from ``keys.yaml``."""

import json
from collections.abc import Mapping
from typing import Any

from protocol.configuration.schema import filled, keys, phrase

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


def page() -> str:
    """Return the reference page as Markdown."""
    file = keys()["properties"]
    sections = {
        "features.NAME": file["features"]["additionalProperties"],
        "hashers[], ground_truths[]": file["hashers"]["items"]["oneOf"][1],
        "codes.NAME": file["codes"]["additionalProperties"],
    } | {key: declared for key, declared in file.items() if "section" in declared}
    parts = [_ABOVE, "## Keys\n", _table(keys())]
    for title, part in sections.items():
        parts += [f"\n## `{title}`\n", f"{part.get('section', part['description'])}\n", _table(part)]
    return "\n".join(parts) + "\n"


def _table(part: Mapping[str, Any]) -> str:
    lines = ["| key | values | default | description |", "|---|---|---|---|"]
    for key, declared in part["properties"].items():
        default = "required" if key in part.get("required", ()) else _default(declared)
        lines.append(f"| `{key}` | {_cell(phrase(declared))} | {default} | {_cell(declared.get('description', ''))} |")
    return "\n".join(lines)


def _default(declared: Mapping[str, Any]) -> str:
    if declared.get("default") is None:
        return ""
    value = filled(declared["default"], declared)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    return f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")

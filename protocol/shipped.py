"""The files that come with the package: the workflow and the config files."""

import itertools
import re
from pathlib import Path

_PACKAGE = Path(__file__).parent
PROJECT = _PACKAGE / "pipeline" if (_PACKAGE / "pipeline").is_dir() else _PACKAGE.parent
"""The folder with `config` and `workflow`: the checkout, or a folder that only a wheel has."""
DEFAULT = PROJECT / "config" / "config.yaml"
"""The config file of the default experiment."""
SNAKEFILE = PROJECT / "workflow" / "Snakefile"
"""The pipeline, which Snakemake runs in any folder."""


def configs() -> dict[str, Path]:
    """Return the config files by the name of their experiment: the default, templates, and those of stored results."""
    folders = ("workflow/config/*.yaml", "results/reference/*/*.yaml")
    paths = [DEFAULT, *(path for pattern in folders for path in sorted(PROJECT.glob(pattern)))]
    return {re.findall(r"^experiment: (\w+)", path.read_text("utf-8"), re.MULTILINE)[0]: path for path in paths}


def description(path: Path, *, complete: bool = False) -> str:
    """Return the first sentence of the comment at the top of a config file, or the complete comment."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    text = " ".join(line.strip("# ") for line in lines)
    return text if complete else re.split(r"(?<=[.?]) (?=[A-Z`])", text)[0]

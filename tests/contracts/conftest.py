"""The plug-ins that pages of docs/ show."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol import registry
from protocol.registry import Record


def record_of(page: Path, package: str) -> Record:
    """Run the block of a page that registers a plug-in, and return its record; nothing stays registered."""
    records = next(one for one in registry.REGISTRIES.values() if one.package == package).records
    before = dict(records)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    (code,) = (block for block in blocks if "Record(\n" in block or re.search(r"^@\w+Record\(", block, re.MULTILINE))
    exec(compile(code, str(page), "exec"), {"__name__": f"protocol.{package}.shown"})
    (record,) = (record for name, record in records.items() if name not in before)
    del records[record.name]
    return record


@pytest.fixture(scope="session")
def shown(root) -> Callable[[str, str], Record]:
    """Return the record of the plug-in that a page shows."""
    return lambda page, package: record_of(root / "docs" / f"{page}.md", package)

"""The records of plug-ins: those that are registered, and those that pages of docs/ show."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol import registry
from protocol.registry import Record


def record_of_page(page: Path, kind: str) -> Record:
    """Run the block of a page that registers a plug-in, and return its record; nothing stays registered."""
    records = registry.REGISTRIES[kind].records
    before = dict(records)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    (code,) = (block for block in blocks if re.search(r"^(@\w+Record|\w+ = declare)\(", block, re.MULTILINE))
    exec(compile(code, str(page), "exec"), {"__name__": f"protocol.{registry.REGISTRIES[kind].package}.shown"})
    (name,) = records.keys() - before.keys()
    assert records[name].source
    assert records[name].summary
    return records.pop(name)


@pytest.fixture(scope="session")
def find(root) -> Callable[[str, str], Record]:
    """Return the record of a kind's plug-in by its name, or by its page, such as ``how-to/add-a-split``."""
    return lambda kind, name: (
        record_of_page(root / "docs" / f"{name}.md", kind) if "/" in name else registry.entry(kind, name)
    )

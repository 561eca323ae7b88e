"""Archives in the official layouts, and refusals; damaged archives are in tests/datasets/test_archives.py."""

import io
import tarfile
from pathlib import Path

import pytest
import yaml

from protocol.checks import ProtocolError

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text(encoding="utf-8"))
"""By dataset, what is refused, and a part of the message."""


def write_tar(path, contents):
    """Write a compressed archive of files, by name, and return its path."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def refused(message, call, *arguments, **options):
    """Assert that a call raises ProtocolError with a text in its message, which is one line."""
    with pytest.raises(ProtocolError) as error:
        call(*arguments, **options)
    assert message in str(error.value), str(error.value)
    assert "\n" not in str(error.value)

"""The split protocols of papers and of public code, as ``protocols.toml`` declares them."""

import tomllib
from pathlib import Path

from protocol.splits._protocol import Drawn, Official, Rest, SameAs, SplitProtocol, declare

PACKAGE_DATA = "protocols.toml"
_KINDS = {"drawn": Drawn, "official": Official, "rest": Rest, "same_as": SameAs}
_declared: dict[str, SplitProtocol] = {}

for _name, _facts in tomllib.loads(Path(__file__).with_name(PACKAGE_DATA).read_text("utf-8")).items():
    _base = _declared[_facts.pop("base")] if "base" in _facts else None
    _parts = {part: _KINDS[source.pop("kind")](**source) for part, source in _facts.pop("partitions", {}).items()}
    _parts = (dict(_base.partitions) if _base else {}) | _parts
    if "may_overlap" in _facts:
        _facts["may_overlap"] = {part: tuple(others) for part, others in _facts["may_overlap"].items()}
    _declared[_name] = declare(__name__, name=_name, base=_base, partitions=_parts, **_facts)

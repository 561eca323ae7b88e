"""The split protocols of papers and of public code, as ``records.toml`` declares them."""

from protocol.registry.records import tables
from protocol.splits._protocol import Drawn, Official, Rest, SameAs, SplitProtocol, declare

_KINDS = {"drawn": Drawn, "official": Official, "rest": Rest, "same_as": SameAs}
_declared: dict[str, SplitProtocol] = {}

for _name, _table in tables("splits").items():
    _facts = {fact: value for fact, value in _table.items() if fact not in ("base", "partitions")}
    _base = _declared[_table["base"]] if "base" in _table else None
    _parts = dict(_base.partitions) if _base else {}
    for _part, _source in _table.get("partitions", {}).items():
        _parts[_part] = _KINDS[_source["kind"]](**{key: value for key, value in _source.items() if key != "kind"})
    _declared[_name] = declare(__name__, name=_name, base=_base, partitions=_parts, **_facts)

"""The split protocols of papers, of public code and of users' lists, as ``records.toml`` declares them."""

from protocol.registry.records import RECORDS, tables
from protocol.splits._protocol import Drawn, Listed, Official, Rest, SameAs, SplitProtocol, declare

_KINDS = {"drawn": Drawn, "listed": Listed, "official": Official, "rest": Rest, "same_as": SameAs}
_declared: dict[str, SplitProtocol] = {}

for _name, _table in tables("splits").items():
    _facts = {fact: value for fact, value in _table.items() if fact not in ("base", "partitions")}
    _base = _declared[_table["base"]] if "base" in _table else None
    _source_of_base = {"source": RECORDS["split"][_table["base"]].source} if _base else {}
    _parts = dict(_base.partitions) if _base else {}
    for _part, _source in _table.get("partitions", {}).items():
        _parts[_part] = _KINDS[_source["kind"]](**{key: value for key, value in _source.items() if key != "kind"})
    _declared[_name] = declare(__name__, name=_name, base=_base, partitions=_parts, **_source_of_base | _facts)

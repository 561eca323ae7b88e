"""Lists with shared items, in any form, are never clean."""

import unicodedata
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.auditing import audit

NAMES = ("a.jpg", "b.jpg", "x/c.png", "007", "42", "caf\u00e9", "d e", "f,g", "h;i")
VARIED = {
    "same": str,
    "upper": str.upper,
    "here": "./{}".format,
    "absolute": "/data/images/{}".format,
    "nfd": lambda text: unicodedata.normalize("NFD", text),
    "png": lambda text: text.replace(".jpg", ".png"),
    "short": lambda text: text.removeprefix("00"),
}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), protocol=st.sampled_from([None, "improved"]))
def test_lists_with_shared_items_are_never_clean(tmp_path_factory, data, protocol):
    folder = tmp_path_factory.mktemp("fuzz")
    shared = data.draw(st.sampled_from(NAMES))
    part = data.draw(st.sampled_from(["database", "train"]))
    form, end = data.draw(st.sampled_from([*VARIED])), data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lists = {name: [f"{name}-own", f"{name}-other"] for name in ("query", "database", "train")}
    lists["query"].append(shared)
    lists[part].append(VARIED[form](shared))
    for name, items in lists.items():
        content = data.draw(st.sampled_from(["", "\ufeff"])) + end.join(f'"{item}"' for item in items)
        Path(folder, f"{name}.csv").write_bytes(content.encode())
    audited = audit(**{name: folder / f"{name}.csv" for name in lists}, protocol=protocol)
    kinds = {one.name for found in audited.findings.values() for one in found}
    expected = f"query-in-{part}" if lists[part][-1] == shared else "ids-differ-in-form"
    assert expected in kinds
    assert "clean\n" not in audited.to_text()

"""Lists with shared items, in any form, are never clean."""

import unicodedata
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.auditing import audit

PARTS = ("query", "database", "train")
NAMES = ("a.jpg", "b.jpg", "x/c.png", "007", "42", "caf\u00e9", "d e", "f,g", "h;i")


VARIED = {
    "upper": str.upper,
    "here": "./{}".format,
    "absolute": "/data/images/{}".format,
    "nfd": lambda text: unicodedata.normalize("NFD", text),
    "png": lambda text: text.replace(".jpg", ".png"),
    "short": lambda text: text.removeprefix("00"),
}


def varied(name, forms):
    """Return an id in another form."""
    for form in forms:
        name = VARIED[form](name)
    return name


FORMS = st.lists(st.sampled_from(list(VARIED)), max_size=2, unique=True)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), suffix=st.sampled_from([".txt", ".csv"]), protocol=st.sampled_from([None, "improved"]))
def test_lists_with_shared_items_are_never_clean(tmp_path_factory, data, suffix, protocol):
    folder = tmp_path_factory.mktemp("oracle")
    lists = {}
    for part in PARTS:
        known = NAMES if suffix == ".csv" else NAMES[:6]
        names = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4), label=part)
        forms, end = data.draw(FORMS), data.draw(ENDS)
        lists[part] = [f"{part}-own", *(varied(name, forms) for name in names)]
        quote = '"{}"'.format if suffix == ".csv" else str
        text = end.join(map(quote, lists[part])) + data.draw(st.sampled_from(["", end, end * 2]))
        content = data.draw(st.sampled_from(["", "\ufeff"])) + text
        Path(folder, f"{part}{suffix}").write_bytes(content.encode())
    audited = audit(**{part: folder / f"{part}{suffix}" for part in PARTS}, protocol=protocol)
    (findings,) = audited.findings.values()
    assert oracle(lists) <= {finding.name for finding in findings}
    assert "clean\n" not in audited.to_text()


def oracle(lists):
    """Return the required findings, by plain comparison of the ids."""
    found = set()
    for a, b, name in (("query", "database", "query-in-database"), ("query", "train", "query-in-train")):
        if any(item in lists[b] for item in lists[a]):
            found.add(name)
        elif any(plain(item) == plain(other) for item in lists[a] for other in lists[b]):
            found.add("ids-differ-in-form")
    if any(len(set(own)) < len(own) for own in lists.values()):
        found.add("duplicate-id")
    return found


def plain(name):
    """Return the normal form of an id."""
    name = unicodedata.normalize("NFC", name).casefold().removeprefix("./")
    name = name.removeprefix("/data/images/").removeprefix("./")
    for extension in (".jpg", ".png"):
        name = name.removesuffix(extension)
    return name.removeprefix("00")

import functools
import subprocess
import sys

import pytest
from encoded import message_of, refuses, yaml_of

from protocol import registry


@pytest.mark.parametrize("kind", registry.REGISTRIES)
def test_every_plug_in_has_a_summary_and_a_source_and_a_kind_may_be_in_the_plural(kind):
    assert registry.names(f"{kind}s") == registry.names(kind)
    for entry in registry.entries(kind):
        assert entry.summary
        assert "\n" not in entry.summary
        assert entry.source
        assert entry.module.startswith(f"protocol.{registry.REGISTRIES[kind].package}.")
    if kind in ("dataset", "hasher", "feature", "ground_truth"):
        printed = [entry.printed for entry in registry.entries(kind) if not getattr(entry, "required", ())]
        assert len({*filter(None, printed)}) == len(printed)
    if kind in ("feature", "hasher", "quantiser", "split"):
        assert registry.records.tables(registry.REGISTRIES[kind].package).keys() <= set(registry.names(kind))


@pytest.mark.parametrize("kind", ["hasherss", None])
def test_an_unknown_kind_is_refused_with_the_known_ones(kind):
    for call in (registry.names, functools.partial(registry.get, name="itq")):
        refuses(rf"^kind must be dataset, .* or split, got {kind!r}\.[^\n]*$", call, kind)


@pytest.mark.parametrize("name", ["lsh", "dpsh"])
def test_a_plug_in_is_found_without_reading_the_others(name):
    code = (
        "import sys; from protocol import registry\n"
        f"assert registry.entry('hasher', {name!r}).name == {name!r}\n"
        "assert 'protocol.hashers.networks.csq' not in sys.modules\n"
        "assert 'csq' in registry.names('hasher')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_radius_a_cutoff_and_the_number_of_relevant_items_are_told_apart():
    names = {name: registry.entry("metric", name).name for name in ("mAP@R", "mAP@r2", "mAP@2[all]", "R@2")}
    assert list(names.values()) == ["mAP@R", "mAP@rR", "mAP@K[all]", "R@K"]
    assert not hasattr(registry.get("metric", "mAP@R"), "keywords")
    assert registry.get("metric", "mAP@r2").keywords == {"radius": 2}
    assert registry.get("metric", "mAP@2[all]").keywords == {"cutoff": 2}


MEANT = yaml_of("shared/meant.yaml")


@pytest.mark.parametrize("name", MEANT)
def test_suggestions_have_the_requested_number(name):
    start = f"Unknown metric {name!r}. Did you mean {MEANT[name]}? `protocol list metrics` lists"
    assert message_of(registry.get, "metric", name).startswith(start)

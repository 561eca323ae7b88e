import functools

import pytest

from protocol import registry
from protocol.checks import ProtocolError

EXPECTED = {
    "hasher": {"lsh", "itq", "pcah", "pca_rr", "sh", "sklsh", "sph", "dsh"},
    "dataset": {"digits", "cifar10", "cifar100", "labelme", "nuswide", "sift1m", "wiki", "imagenet100"},
    "feature": {"gist", "sift", "bow"},
    "ground_truth": {"epsilon_ball", "class_label"},
    "split": {"standard", "improved"},
}


@pytest.mark.parametrize(("kind", "names"), EXPECTED.items())
def test_every_plug_in_is_found(kind, names):
    assert names <= set(registry.names(kind))


@pytest.mark.parametrize("kind", registry.ROOMS)
def test_every_plug_in_says_what_it_is_and_where_from(kind):
    for entry in registry.entries(kind):
        assert entry.summary
        assert "\n" not in entry.summary
        assert entry.source
        assert entry.module.startswith(f"protocol.{registry.ROOMS[kind]}.")


def test_a_number_in_a_name_becomes_a_keyword():
    bound = registry.get("metric", "mAP@1000[all]")
    assert isinstance(bound, functools.partial)
    assert bound.keywords == {"cutoff": 1000}
    assert registry.get("metric", "precision@r12").keywords == {"radius": 12}


@pytest.mark.parametrize("name", ["mAP@0[all]", "mAP@x[all]", "precision@r-1", "precision@2", "map"])
def test_names_that_do_not_match_are_unknown(name):
    with pytest.raises(ProtocolError, match=r"unknown metric .* known: .*mAP@K"):
        registry.get("metric", name)


def test_misspelt_names_and_kinds_list_the_known():
    with pytest.raises(ProtocolError, match=r"unknown hasher 'iqt' \(did you mean 'itq'\?\); known: .*dsh, itq, lsh"):
        registry.get("hasher", "iqt")
    with pytest.raises(ProtocolError, match=r"unknown kind 'hash'.*known: dataset, feature"):
        registry.names("hash")


def test_two_files_can_not_claim_one_name():
    space = {"__name__": "elsewhere", "register": registry.register}
    with pytest.raises(
        ProtocolError, match=r"hasher 'itq' is registered twice: in protocol\.hashers\.itq and in elsewhere"
    ):
        exec("register('hasher', 'itq', source='x')(object)", space)


def test_digest_follows_the_plug_in_its_room_and_the_hall_only(tmp_path, monkeypatch):
    import shutil

    copy = tmp_path / "protocol"
    shutil.copytree(registry._PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(registry, "_PACKAGE", copy)
    for name in ("hashers.itq", "hashers.lsh", "datasets.cifar10"):
        module = __import__("importlib").import_module(f"protocol.{name}")
        monkeypatch.setattr(module, "__file__", str(copy / f"{name.replace('.', '/')}.py"))

    def digests():
        plugins = [("hasher", "itq"), ("hasher", "lsh"), ("dataset", "cifar10")]
        return *(registry.digest(*plugin) for plugin in plugins), registry.room_digest("ranking")

    def changed_by(path):
        before = digests()
        with open(copy / path, "a") as file:
            file.write("# edited\n")
        return [a != b for a, b in zip(before, digests(), strict=True)]

    assert changed_by("hashers/itq.py") == [True, False, False, False]
    assert changed_by("hashers/_base.py") == [True, True, False, False]
    assert changed_by("ranking/counting.py") == [False, False, False, True]
    assert changed_by("codes.py") == [True, True, True, True]
    assert changed_by("cli.py") == [False, False, False, False]
    assert changed_by("metrics/ramap.py") == [False, False, False, False]
    assert changed_by("datasets/_cifar.py") == [False, False, True, False]
    assert changed_by("datasets/digits.py") == [False, False, False, False]
    assert changed_by("formats/archives.py") == [False, False, True, False]  # a room that the dataset's room imports
    assert changed_by("downloads/_fetch.py") == [False, False, False, False]  # gives what its checksum says or nothing

import functools
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_every_plug_in_has_a_summary_and_a_source(kind):
    for entry in registry.entries(kind):
        assert entry.summary
        assert "\n" not in entry.summary
        assert entry.source
        assert entry.module.startswith(f"protocol.{registry.PACKAGES[kind]}.")


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_a_kind_may_be_in_the_plural_as_the_command_lists_it(kind):
    known = registry.names(kind)
    assert registry.names(f"{kind}s") == known
    name = "mAP" if kind == "metric" else known[0]
    assert registry.get(f"{kind}s", name) is registry.get(kind, name)


@pytest.mark.parametrize("kind", ["hashes", "hasherss", "s", "", None])
def test_an_unknown_kind_is_refused_with_the_known_ones(kind):
    for call in (registry.names, functools.partial(registry.get, name="itq")):
        with pytest.raises(ProtocolError, match=rf"^kind: expected dataset, .* or split, got {kind!r}\.[^\n]*$"):
            call(kind)


def test_a_number_in_a_name_becomes_a_keyword():
    bound = registry.get("metric", "mAP@1000[all]")
    assert isinstance(bound, functools.partial)
    assert bound.keywords == {"cutoff": 1000}
    assert registry.get("metric", "precision@r12").keywords == {"radius": 12}


@pytest.mark.parametrize("name", ["mAP@x[all]", "precision@r-1", "precision@2", "map"])
def test_names_that_do_not_match_are_unknown(name):
    with pytest.raises(ProtocolError, match=r"metric: expected .* \(protocol list metrics\), got"):
        registry.get("metric", name)


@pytest.mark.parametrize("name", ["mAP@0[all]", "P@00", "mAP@-5[min]", "mAP@2.5[retrieved]"])
def test_a_cutoff_that_is_no_positive_integer_is_named(name):
    number = name.partition("@")[2].partition("[")[0]
    with pytest.raises(ProtocolError, match=rf": expected an integer >= 1 as the cutoff K, got {number}\."):
        registry.get("metric", name)


@pytest.mark.parametrize("name", ["mAP@100", "MAP@100", "map@K=100"])
def test_a_name_without_its_denominator_is_ambiguous(name):
    with pytest.raises(ProtocolError) as error:
        registry.get("metric", name)
    assert str(error.value) == (
        f"metric {name!r} is ambiguous: choose mAP@100[all], mAP@100[retrieved] or mAP@100[min] "
        "(protocol list metrics)."
    )


MEANT = {
    "map": "'mAP'",
    "MAP": "'mAP'",
    "AP": "'mAP'",
    "mAP@ALL": "'mAP'",
    "map@-1": "'mAP'",
    "NDCG": "'nDCG'",
    "ndcg@10": "'nDCG@10'",
    "nDCG@top10": "'nDCG@10'",
    "p@5": "'P@5'",
    "P@": "'P@1000'",
    "precision@K=5": "'P@5' or 'precision@r5'",
    "precision@2": "'P@2' or 'precision@r2'",
    "recall@100": "'R@100' or 'recall@r100'",
    "map@50[retreived]": "'mAP@50[retrieved]'",
    "RAMAP": "'RAMAP@r2'",
    "F1": "'F1@r2'",
    "F2@R3": "'F2@r3'",
    "utilization": "'utilisation'",
}


@pytest.mark.parametrize("name", MEANT)
def test_suggestions_have_the_requested_number(name):
    with pytest.raises(ProtocolError) as error:
        registry.get("metric", name)
    assert str(error.value).endswith(f"(protocol list metrics), got {name!r}. Did you mean {MEANT[name]}?")


def test_misspelt_names_and_kinds_list_the_known():
    with pytest.raises(ProtocolError, match=r"hasher: expected .*, got 'iqt'.*Did you mean 'itq'"):
        registry.get("hasher", "iqt")
    with pytest.raises(ProtocolError, match=r"kind: expected .*, got 'hash'"):
        registry.names("hash")


def test_two_files_can_not_claim_one_name():
    space = {"__name__": "elsewhere", "record": hasher("itq")}
    with pytest.raises(ProtocolError) as error:
        exec("record(object)", space)
    assert str(error.value) == (
        "hasher 'itq': expected one plug-in of this name, got two: in protocol.hashers.itq and in elsewhere."
    )


def hasher(name, **fields):
    return registry.HasherRecord(
        name, **{"source": "a page", "deviations": "", "bits_within_features": False, "random": True} | fields
    )


def test_a_record_describes_its_plug_in_and_returns_it(records):
    class Mine:
        """The first line.

        And another one.
        """

    assert hasher("mine")(Mine) is Mine
    record = records["hasher", "mine"]
    assert (record.plugin, record.module, record.summary) == (Mine, __name__, "The first line.")
    assert (record.kind, record.package, record.random, record.extra) == ("hasher", "hashers", True, None)
    assert hasher("mine", summary="Given.").describing(Mine, "here").summary == "Given."


@pytest.fixture
def records(monkeypatch):
    """The registered records, of which a test may change a copy."""
    monkeypatch.setattr(registry, "_records", dict(registry._records))
    yield registry._records
    registry._find.cache_clear()


WRONG_FIELDS = {
    "source='x', bits_within_features=False, random=True": "missing field 'deviations'",
    "source='x', deviations=''": "missing fields 'bits_within_features', 'random'",
    "source='x', deviatons='', bits_within_features=False, random=True": "unknown field 'deviatons'. Did you mean "
    "'deviations'?",
    "source='x', deviations='', bits_within_features=False, random=True, paper=1": "unknown field 'paper'. Known "
    "fields: bits_within_features, deviations, extra, iterations, name, printed, random, source, summary.",
    "'x', deviations=''": "expected one argument without a keyword, the name, got 2",
    "source='x', deviations='', bits_within_features=False, random=True, module='x'": "unknown field 'module'",
}


@pytest.mark.parametrize(("fields", "problem"), WRONG_FIELDS.items())
def test_a_wrong_field_is_one_line_with_the_file_and_the_field(fields, problem):
    path = registry._PACKAGE / "hashers" / "mine.py"
    code = f"from protocol.registry import HasherRecord\n\n@HasherRecord('mine', {fields})\nclass Mine: ...\n"
    with pytest.raises(ProtocolError) as error:
        exec(compile(code, str(path), "exec"), {"__name__": "protocol.hashers.mine"})
    assert str(error.value).startswith(f"protocol/hashers/mine.py: hasher 'mine': {problem}")
    assert "\n" not in str(error.value)


def test_a_record_without_a_name_or_in_a_file_outside_the_package_is_refused():
    with pytest.raises(ProtocolError, match=rf"^{__file__}: feature '': missing field 'name'"):
        registry.FeatureRecord(source="a page", deviations="")
    with pytest.raises(ProtocolError, match=r"split 'x': missing field 'summary'"):
        registry.SplitRecord("x", source="a page")


def test_sub_packages_are_scanned_but_for_private_modules(tmp_path, monkeypatch):
    code = "from protocol.registry import FeatureRecord\nFeatureRecord({!r}, source='x', deviations='')(object())\n"
    for file in ("made/plain.py", "made/deep/inside.py", "made/_hidden.py", "made/_private/inside.py"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(code.format(file))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_records", {})
    registry._import_below(__import__("made"))
    assert [record.name for record in registry._records.values()] == ["made/deep/inside.py", "made/plain.py"]


def test_a_plug_in_that_changes_the_working_directory_is_named(tmp_path, monkeypatch):
    path = tmp_path / "moving" / "away.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    path.write_text("import os\nos.chdir('/')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProtocolError, match=rf"^{path}: changed the working directory, to which relative paths refer"):
        registry._import_below(__import__("moving"))
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("ends", ["np.load('x.npy')", "1"])  # with an error that would be misleading, and without
def test_a_job_whose_plug_in_changes_the_working_directory_names_it(root, tmp_path, ends):
    plugin = Path(registry.__file__).parent / "hashers" / "moving.py"
    (tmp_path / "script.py").write_text(
        "import sys\nfrom types import SimpleNamespace as Record\n"
        f"sys.path.insert(0, {str(root / 'workflow' / 'scripts')!r})\n"
        "from job import run\nscope = {}\n"
        f"exec(compile('import os\\ndef fit(): os.chdir(\"/\")', {str(plugin)!r}, 'exec'), scope)\n"
        f"def main(job):\n    import numpy as np\n    np.save('x.npy', [1])\n    scope['fit']()\n    {ends}\n"
        "run(main, Record(log='job.log', rule='model', wildcards={}, params={}, output=[]))\n"
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {plugin}: changed the working directory, to which relative paths refer.")

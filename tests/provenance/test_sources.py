"""Digests of code: of the package itself, after edits of a copy, and of packages made for one test each."""

import shutil
from pathlib import Path

import pytest

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance import sources

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


def forget():
    for cached in (sources._version, sources._digest, sources._read, sources._path, sources._data):
        cached.cache_clear()


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Write files of a package, by path, and return the files behind starts in it."""
    monkeypatch.setattr(sources, "_ROOT", tmp_path)

    def files(contents, *starts):
        for path, text in ({"protocol/__init__.py": ""} | contents).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        forget()
        return [file.removeprefix("protocol/") for file in sources.files(*starts)]

    yield files
    forget()


def test_an_edit_changes_the_digests_of_what_imports_it_and_no_other(tmp_path, monkeypatch):
    shutil.copytree(sources._ROOT / "protocol", tmp_path / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sources, "_ROOT", tmp_path)

    def digests():
        forget()
        return {
            "itq": registry.code_digest(hasher="itq"),
            "cvh": registry.code_digest(hasher="cvh"),
            "cifar10": registry.code_digest(dataset="cifar10"),
            "model": registry.code_digest(SCRIPTS / "model.py", hasher="lsh"),
            "count": registry.code_digest(SCRIPTS / "count.py"),
            "score": registry.code_digest(SCRIPTS / "score.py", metric="mAP"),
            "page": registry.code_digest(SCRIPTS / "report.py"),
        }

    last = digests()

    def changed_by(path):
        before = last.copy()
        with open(tmp_path / "protocol" / path, "a") as file:
            file.write("edited = 1\n" if path.endswith(".py") else "# edited\n")
        last.update(digests())
        return {name for name, digest in last.items() if digest != before[name]}

    try:
        assert changed_by("hashers/itq.py") == {"itq"}
        assert changed_by("hashers/cross_modal/base.py") == {"cvh"}
        assert changed_by("hashers/base.py") == {"itq", "cvh", "model"}
        assert changed_by("counting/counting.py") == {"count", "page"}
        assert changed_by("metrics/ramap.py") == set()
        assert changed_by("metrics/average_precision.py") == {"score"}
        assert changed_by("datasets/_cifar.py") == {"cifar10"}
        assert changed_by("datasets/digits.py") == set()
        assert changed_by("inputs/archives.py") == {"cifar10"}
        assert changed_by("report/_drawing_child.py") == {"page"}
        assert changed_by("report/sections/conventions.py") == {"page"}
        assert changed_by("report/templates/style.css.j2") == {"page"}
        assert changed_by("papers/talr/claims.yaml") == {"page"}
        assert changed_by("checks.py") == {"itq", "cvh", "cifar10", "model", "count", "score", "page"}
        assert changed_by("cli/__init__.py") == changed_by("__main__.py") == set()
        assert changed_by("downloads/_fetch.py") == set()  # its results are compared with checksums
        assert changed_by("sources.py") == set()
    finally:
        forget()


TEXT = """\"\"\"Of a module.\"\"\"
import numpy
def public():
    \"\"\"Of a public function.\"\"\"
    return 1
def _private():
    \"\"\"Of a private function.\"\"\"
class Some:
    \"\"\"Of a class.\"\"\"
    def method(self):
        \"\"\"Of a method.\"\"\"
"""
EDITS = [
    ("return 1", "return 1  # a comment", False),
    ("return 1", "return (1)", False),
    ("return 1", "return 2", True),
    ("Of a module.", "Changed.", False),
    ("Of a private function.", "Changed.", False),
    ("Of a method.", "Changed.", False),
    ("Of a public function.", "Changed.", True),
    ("Of a class.", "Changed.", True),
]


@pytest.mark.parametrize(("old", "new", "counts"), EDITS)
def test_comments_and_docstrings_that_nothing_reads_do_not_count(made, old, new, counts):
    made({"protocol/a.py": TEXT})
    before = sources.digest("protocol.a")
    made({"protocol/a.py": TEXT.replace(old, new)})
    assert (sources.digest("protocol.a") != before) == counts


def test_the_versions_of_imported_libraries_count(made, monkeypatch):
    made({"protocol/a.py": "from protocol.b import f", "protocol/b.py": "from sklearn.svm import SVC\nimport json"})
    with monkeypatch.context() as patch:
        patch.setattr(sources, "version", lambda library: "9.9.9")
        assert sources.digest("protocol.a").endswith(" with scikit-learn 9.9.9")
        sources._version.cache_clear()
    made({"protocol/a.py": ""})
    assert " with " not in sources.digest("protocol.a")


def test_imports_in_functions_and_blocks_are_followed_but_not_those_for_type_checkers(made):
    text = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from protocol.only_typed import A
else:
    from protocol.otherwise import A
try:
    from protocol.tried import B
except ImportError:
    from protocol.caught import B
class Some:
    def method(self, kind):
        match kind:
            case 1:
                with open(kind):
                    import protocol.deep.matched as m
"""
    names = ["only_typed", "otherwise", "tried", "caught", "deep/matched", "deep/__init__", "unused"]
    files = made({f"protocol/{name}.py": "" for name in names} | {"protocol/a.py": text}, "protocol.a")
    assert files == ["a.py", "caught.py", "deep/matched.py", "otherwise.py", "tried.py"]


def test_a_name_is_followed_through_packages_to_the_module_that_defines_it(made):
    files = made(
        {
            "protocol/a.py": "from protocol.pkg import thing, submodule, page\nfrom numpy import array",
            "protocol/pkg/__init__.py": "from protocol.pkg._one import other, Thing as thing\n"
            "from protocol.pkg.page import page\nfrom protocol.pkg._two import more",
            "protocol/pkg/_one.py": "",
            "protocol/pkg/_two.py": "",
            "protocol/pkg/page.py": "from ..deeper import inner",
            "protocol/pkg/submodule.py": "",
            "protocol/deeper/__init__.py": "from .inside import inner\nfrom .none import nothing",
            "protocol/deeper/inside.py": "",
            "protocol/deeper/none.py": "",
        },
        "protocol.a",
    )
    assert files == ["a.py", "deeper/inside.py", "pkg/_one.py", "pkg/page.py", "pkg/submodule.py"]


@pytest.mark.parametrize("binding", ["def f(): ...", "class f: ...", "f = 1", "f: int = 1", "e, f = 1, 2"])
def test_a_name_defined_in_a_package_includes_all_imports_of_the_package(made, binding):
    files = made(
        {
            "protocol/a.py": "from protocol.pkg import f",
            "protocol/pkg/__init__.py": f"from protocol.pkg import used\n{binding}",
            "protocol/pkg/used.py": "",
        },
        "protocol.a",
    )
    assert files == ["a.py", "pkg/__init__.py", "pkg/used.py"]


@pytest.mark.parametrize("text", ["from protocol import pkg", "from protocol.pkg import *", "import protocol.pkg"])
def test_importing_a_package_includes_everything_that_it_imports(made, text):
    files = made(
        {
            "protocol/a.py": text,
            "protocol/pkg/__init__.py": "from protocol.pkg._one import one",
            "protocol/pkg/_one.py": "",
            "protocol/pkg/_two.py": "",
        },
        "protocol.a",
    )
    assert files == ["a.py", "pkg/__init__.py", "pkg/_one.py"]


def test_modules_that_import_each_other_are_each_counted_once(made):
    pair = {"protocol/a.py": "from protocol.b import f", "protocol/b.py": "def f():\n    from protocol.a import g"}
    assert made(pair, "protocol.a") == made(pair, "protocol.b") == ["a.py", "b.py"]


def test_templates_and_data_count_where_they_are_read(made):
    contents = {
        "protocol/r/__init__.py": "",
        "protocol/r/numbers.py": 'PACKAGE_DATA = "*/numbers.yaml"',
        "protocol/r/one/numbers.yaml": "",
        "protocol/r/page.py": "def page():\n    import jinja2",
        "protocol/r/table.py": "",
        "protocol/r/templates/page.html.j2": "",
    }
    assert made(contents, "protocol.r.page") == ["r/page.py", "r/templates/page.html.j2"]
    assert made(contents, "protocol.r.table") == ["r/table.py"]
    assert made(contents, "protocol.r.numbers") == ["r/numbers.py", "r/one/numbers.yaml"]


WRONG = {
    "from protocol.pkg import nope": "protocol.a: expected a name or a module of protocol.pkg, got 'nope'.",
    "from protocol.pkg import turning": "protocol.a: expected a name or a module of protocol.pkg",
    "import protocol.nope": "protocol.a: expected a module of the package 'protocol', got 'protocol.nope'.",
    "import protocol": "protocol.a: expected `from protocol import NAME`",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_an_import_of_an_unknown_name_is_refused(made, text, message):
    contents = {
        "protocol/a.py": text,
        "protocol/pkg/__init__.py": "from protocol.other import turning",
        "protocol/other/__init__.py": "from protocol.pkg import turning",
    }
    with pytest.raises(ProtocolError) as error:
        made(contents, "protocol.a")
    assert str(error.value).startswith(message)


def test_unknown_modules_and_plug_ins_are_refused():
    with pytest.raises(ProtocolError, match=r"expected a module of the package 'protocol', got 'protocol\.nope'\."):
        sources.digest("protocol.nope")
    with pytest.raises(ProtocolError, match=r"hasher: expected .*, got 'iqt'"):
        registry.code_digest(SCRIPTS / "model.py", hasher=["lsh", "iqt"])
    with pytest.raises(ProtocolError, match=r"kind: expected .*, got 'hash'"):
        registry.code_digest(hash="lsh")


def test_a_script_in_another_folder_has_the_same_digest_and_another_text_a_different_one(tmp_path):
    copy = shutil.copy(SCRIPTS / "count.py", tmp_path)
    assert sources.digest(copy) == sources.digest(SCRIPTS / "count.py") == sources.digest(str(SCRIPTS / "count.py"))
    other = tmp_path / "other" / "count.py"
    other.parent.mkdir()
    other.write_text((SCRIPTS / "count.py").read_text() + "edited = 1\n")
    assert sources.digest(other) != sources.digest(copy)


def test_every_digest_of_a_large_experiment_is_cheap():
    """Hundreds of digests are taken while the rules are parsed; each file is read once."""
    hashers, features = registry.names("hasher"), registry.names("feature")
    forget()
    for hasher in hashers:
        for feature in features:
            registry.code_digest(SCRIPTS / "model.py", hasher=hasher, feature=feature)
    reads = sources._read.cache_info()
    assert reads.misses == reads.currsize < 120
    assert reads.hits > 10 * reads.misses

"""Digests of code: of the package itself, after edits of a copy, and of packages made for one test each."""

import shutil
from pathlib import Path

import pytest
from encoded import refuses, yaml_of

from protocol import registry
from protocol.provenance import sources, storage

CASES = yaml_of("provenance/sources.yaml")
SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


def forget():
    for cached in (sources._digest, sources._read):
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
        return sorted(file.removeprefix("protocol/") for file in sources._contents(frozenset(starts))[0])

    yield files
    forget()


CHANGED = CASES["changed"]


def test_an_edit_changes_the_digests_of_what_imports_it_and_no_other(tmp_path, monkeypatch):
    shutil.copytree(sources._ROOT / "protocol", tmp_path / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sources, "_ROOT", tmp_path)

    def digests():
        forget()
        return {
            "itq": sources.code_digest(hasher="itq"),
            "model": sources.code_digest(SCRIPTS / "model.py", hasher="lsh"),
            "count": sources.code_digest(SCRIPTS / "count.py"),
            "score": sources.code_digest(SCRIPTS / "score.py", metric="mAP"),
        }

    before = digests()
    try:
        for path, changed in CHANGED.items():
            with open(tmp_path / "protocol" / path, "a") as file:
                file.write("edited = 1\n")
            after = digests()
            assert {name for name in after if after[name] != before[name]} == set(changed), path
            before = after
        monkeypatch.setitem(registry.entry("hasher", "lsh").table, "random", False)
        assert [name for name, digest in digests().items() if digest != before[name]] == ["model"]
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


def test_comments_and_docstrings_that_nothing_reads_do_not_count(made):
    made({"protocol/a.py": TEXT})
    before = sources.code_digest("protocol.a")
    for old in ("return 1", "Of a private function.", "Of a method.", "Of a public function.", "Of a class."):
        new = "return 1  # a comment" if old == "return 1" else "Changed."
        made({"protocol/a.py": TEXT.replace(old, new)})
        assert (sources.code_digest("protocol.a") != before) == (old in ("Of a public function.", "Of a class.")), old


def test_every_data_file_that_a_job_can_read_belongs_to_a_module():
    package = sources._ROOT / "protocol"
    modules = [".".join(path.relative_to(sources._ROOT).with_suffix("").parts) for path in package.rglob("*.py")]
    data = [path for path in package.rglob("*.*") if path.suffix in (".j2", ".toml", ".yaml", ".csv")]
    by_plug_in = {*package.glob("*/records.toml")} - {package / "metrics" / "records.toml"}
    others = [path for path in data if path.parent.name not in ("cli", "configuration") and path not in by_plug_in]
    read = {path.relative_to(sources._ROOT).as_posix() for path in others}
    assert read <= sources._contents(frozenset(module.removesuffix(".__init__") for module in modules))[0].keys()


def test_the_versions_of_imported_libraries_count(made, monkeypatch):
    made({"protocol/a.py": "from protocol.b import f", "protocol/b.py": "from sklearn.svm import SVC\nimport json"})
    monkeypatch.setattr(storage, "versions", lambda: {"scikit-learn": "9.9.9"})
    assert sources.code_digest("protocol.a").endswith(" with scikit-learn 9.9.9")
    made({"protocol/a.py": ""})
    assert " with " not in sources.code_digest("protocol.a")


@pytest.mark.parametrize("case", CASES["covered"])
def test_which_files_a_digest_covers(made, case):
    package = CASES["covered"][case]
    empty = {f"protocol/{name}.py": "" for name in package.get("empty", ())}
    assert made(package["files"] | empty, package.get("start", "protocol.a")) == package["covers"]


def test_an_import_that_hides_the_files_behind_it_is_refused(made):
    problem = r"^protocol\.a: write `from protocol import NAME` instead of"
    refuses(problem, made, {"protocol/a.py": "import protocol"}, "protocol.a")


def test_unknown_modules_and_plug_ins_are_refused():
    refuses(
        "code digest: the package 'protocol' has no module 'protocol[.]nope'[.]", sources.code_digest, "protocol.nope"
    )
    refuses(r"^Unknown hasher 'iqt'[.] Did you mean 'itq'[?]", sources.code_digest, hasher=["lsh", "iqt"])


def test_a_script_in_another_folder_has_the_same_digest_and_another_text_a_different_one(tmp_path):
    copy = shutil.copy(SCRIPTS / "count.py", tmp_path)
    assert sources.code_digest(copy) == sources.code_digest(SCRIPTS / "count.py")
    Path(copy).write_text((SCRIPTS / "count.py").read_text() + "edited = 1\n")
    forget()
    assert sources.code_digest(copy) != sources.code_digest(SCRIPTS / "count.py")

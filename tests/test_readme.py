"""The README is true, and so are the files of the project that it and the guides name."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from page_blocks import DOCS, blocks, folder_of_a_reader

from protocol import papers, registry
from protocol.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_first_two_sh_blocks_are_one_command_each():
    commands = re.findall(r"^```sh\n(.*?)^```", README, re.S | re.M)[:2]
    assert all(command.count("\n") == 1 for command in commands)
    assert [command.split("/")[-1].split()[0] for command in commands] == ["snakemake", "pytest"]


def test_its_other_blocks_print_what_it_shows(tmp_path):
    """The first output is that of the Python example, which comes later."""
    with folder_of_a_reader(tmp_path) as namespace:
        lists = next(block for block in blocks((DOCS / "how-to" / "audit-a-split.md").read_text()))
        lists.printed({})
        example, audit = list(blocks(README))[2:]
        assert example.printed(namespace) == re.search(r"^```text\n(.*?)^```", README, re.S | re.M)[1]
        assert audit.shows(audit.printed(namespace))


def test_it_is_short():
    assert README.count("\n") <= 80


def test_what_it_names_is_there():
    for path in re.findall(r"`((?:protocol|workflow|envs|tests|docs)/[\w./-]+)`", README):
        assert (ROOT / path).exists(), path


def test_its_everyday_commands_are_valid(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"`((?:protocol|snakemake) ?[^`]*)`", README.partition("| to | type |")[2])
    assert len(commands) == 10
    assert {shlex.split(command)[0] for command in commands} == {"protocol", "snakemake"}
    for command in commands:
        if command.startswith("protocol list"):
            assert main(shlex.split(command)[1:]) == 0
    assert "mAP@K[all]" in capsys.readouterr().out


def test_the_targets_that_the_guide_names_are_rules():
    files = [ROOT / "workflow" / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    rules = {name for file in files for name in re.findall(r"^ *rule (\w+):", file.read_text(), re.M)}
    rules |= set(re.findall(r'"(\w+)": ', files[0].read_text()))  # the table of stages
    rows = re.findall(r"^\| (`.+?) \|", (DOCS / "how-to" / "rerun-a-stage.md").read_text(), re.M)
    targets = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {"downloads", "metrics", "leak", "paper"} <= targets <= rules


CONDA = {"py-opencv": "opencv-python-headless", "snakemake-minimal": "snakemake"}
"""The names that conda has for libraries."""


@pytest.mark.parametrize(
    ("file", "python", "more", "fewer"),
    [  # jobs import Snakemake and this package from the environment in which Snakemake runs
        ("protocol.yaml", ["=3.11"], [], {"hashing-protocol", "snakemake"}),
        ("recipe/meta.yaml", [PROJECT["requires-python"]] * 2, ["build"], {"hashing-protocol"}),
    ],
)
def test_conda_has_the_libraries_of_the_pipeline_in_the_versions_of_the_lock(file, python, more, fewer):
    text, lock = ((ROOT / "envs" / name).read_text() for name in (file, "run.lock"))
    assert re.findall(r"^ +- python ?(\S+)$", text, re.M) == python
    pins = dict(re.findall(r"^ +- (?!python)([\w-]+) ?==?(\S+)$", text, re.M))
    for name, version in pins.items():
        assert re.search(rf"^{CONDA.get(name, name)}=={re.escape(version)}[ .]", lock, re.M), name
    extras = [EXTRAS[extra] for extra in ("fast", "hdf5", "report", "pipeline", *more)]
    required = {Requirement(one).name for listed in (PROJECT["dependencies"], *extras) for one in listed}
    assert {CONDA.get(name, name) for name in pins} == required - fewer


def test_the_catalogue_file_is_true():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    rules = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    assert usage["software-stack-deployment"] == {"conda": True, "report": True}
    assert usage["report"]
    assert "report(" in rules
    assert 'one_rule.conda_env or "../../envs/protocol.yaml"' in (ROOT / "workflow" / "Snakefile").read_text()
    assert not re.search(r"^ *container(ized)?:", rules, re.M)


def test_the_locks_cover_every_dependency_and_agree():
    run, test, docs = ((ROOT / "envs" / f"{name}.lock").read_text() for name in ("run", "test", "docs"))
    for extra in (PROJECT["dependencies"], *(EXTRAS[name] for name in ("pipeline", "fast", "hdf5", "report", "build"))):
        for requirement in extra:
            name = re.split("[<>=]", requirement)[0]
            assert requirement.startswith("hashing-protocol[") or f"\n{name}==" in run, requirement
    for requirement in EXTRAS["test"]:
        assert f"\n{requirement}==" in test, requirement
    for requirement in EXTRAS["docs"]:
        assert f"\n{re.split('[<>=]', requirement)[0]}==" in docs, requirement
    pins = [set(re.findall(r"^([\w-]+==\S+)", text, re.M)) for text in (run, test, docs)]
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links", run + test + docs)
    assert pins[0] <= pins[1]
    # The continuous integration installs the lock of the site into the environment of the tests.
    names = {pin.partition("==")[0] for pin in pins[1]}
    assert [pin for pin in sorted(pins[2] - pins[1]) if pin.partition("==")[0] in names] == []


def test_the_container_has_a_tested_python_and_runs_the_first_command():
    text = (ROOT / "Dockerfile").read_text()
    (python,) = re.findall(r"^FROM python:(\d+\.\d+)-slim$", text, re.M)
    assert f"--python-version {python} " in (ROOT / "envs" / "run.lock").read_text().splitlines()[1]
    assert python in SpecifierSet(PROJECT["requires-python"])
    copied = re.findall(r"^COPY (.+)$", text, re.M)
    assert copied == ["envs/run.lock envs/run.lock", ". ."]
    assert (ROOT / "envs" / "run.lock").exists()
    steps = re.findall(r"^(?:RUN|ENTRYPOINT) (.+)$", text, re.M)
    steps = [re.sub(r'--(no-cache-dir|require-hashes) |[]["]', "", step) for step in steps]
    _, *first = README.partition("```sh\n")[2].partition("\n")[0].split(" && ")
    assert steps == [step.removeprefix(".venv/bin/").replace("-q ", "") for step in first]
    assert (ROOT / "profiles" / "default" / "config.yaml").exists()  # which Snakemake finds next to the Snakefile


def test_the_changelog_counts_what_there_is():
    text = (ROOT / "CHANGELOG.md").read_text()
    counted = {
        kind: int(re.search(rf"(\d+) {words}", text)[1])
        for kind, words in {"hasher": "hashers", "split": "split"}.items()
    }
    assert counted == {kind: len(registry.names(kind)) for kind in counted}
    assert f"checks {len(papers.all_claims())} claims" in text

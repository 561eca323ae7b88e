"""The README says what is true."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from protocol import configuration, registry
from protocol.cli.list import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("kind", [*registry.PACKAGES, "convention", "finding"])
def test_tables_are_those_of_the_registry(kind):
    (table,) = re.findall(rf"<!-- {kind} -->\n(.*?)\n<!-- end -->", README, re.S)
    assert table == markdown(kind), f"print it again with: protocol list {kind}s --markdown"


def test_the_first_two_sh_blocks_are_one_command_each():
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.S | re.M)
    assert len(blocks) == 2
    assert all(block.count("\n") == 1 for block in blocks)


def test_the_hasher_it_shows_works(monkeypatch):
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.S | re.M)
    monkeypatch.setattr(registry, "_records", dict(registry._records))
    space = {"__name__": "protocol.hashers.mean"}
    exec(compile(ast.parse(code), "README.md", "exec"), space)
    X = np.random.default_rng(0).standard_normal((5, 4))
    model = registry.get("hasher", "mean")(n_bits=3).fit(X)
    assert (model.transform(X) == (X[:, :3] > X[:, :3].mean(axis=0))).all()
    registry._find.cache_clear()


def test_what_it_names_is_there():
    for path in re.findall(r"`((?:protocol|workflow|envs|tests|docs)/[\w./-]+)`", README):
        assert (ROOT / path).exists() or path == "protocol/hashers/mean.py", path
    for path in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"`(\w+[.]yaml)`", README):
        assert (ROOT / "workflow" / "config" / name).exists(), name


def test_the_targets_it_names_are_rules():
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    rules = {name for file in files for name in re.findall(r"^rule (\w+):", file.read_text(), re.M)}
    (others,) = re.findall(r"`snakemake metrics` \(or (.+?)\);", README)
    targets = re.findall(r"`(\w+)`", others) + re.findall(r"snakemake (?:[^`\n]* -- )?(\w+)[ `\n]", README)
    assert {"downloads", "metrics", "leak", "paper"} <= set(targets) <= rules


def test_its_plug_ins_with_options_of_their_own_are_a_configuration():
    (text,) = re.findall(r"^    (ground_truths: .+?)\n\n", README, re.S | re.M)
    default = yaml.safe_load(configuration.DEFAULT.read_text())
    uses = yaml.safe_load(text.replace("\n    ", "\n"))
    experiment = configuration.load({**default, **uses})
    assert set(experiment.hashers) == {"lsh", "itq", "itq_5"}
    assert set(experiment.ground_truths) == {"class_label", "nearest_10"}
    assert set(experiment.features) == {"gist", "gist_16"}


def test_the_conda_environment_has_the_versions_of_the_lock():
    lock = (ROOT / "envs" / "run.lock").read_text()
    listed = yaml.safe_load((ROOT / "envs" / "protocol.yaml").read_text())["dependencies"]
    pins = [
        item.split("=") for item in listed if isinstance(item, str) and "=" in item and not item.startswith("python")
    ]
    pins += [item.split("==") for item in listed[-1]["pip"]]
    for name, version in pins:
        assert f"\n{name}=={version} " in lock, name


def test_the_locks_cover_every_dependency_and_agree():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    run, test, docs = ((ROOT / "envs" / f"{name}.lock").read_text() for name in ("run", "test", "docs"))
    extras = project["optional-dependencies"]
    for extra in (project["dependencies"], *(extras[name] for name in ("pipeline", "fast", "hdf5", "report", "build"))):
        for wanted in extra:
            name = re.split("[<>=]", wanted)[0]
            assert wanted.startswith("hashing-protocol[") or f"\n{name}==" in run, wanted
    for wanted in extras["test"]:
        assert f"\n{wanted}==" in test, wanted
    for wanted in extras["docs"]:
        assert f"\n{re.split('[<>=]', wanted)[0]}==" in docs, wanted
    pins = [set(re.findall(r"^([\w-]+==\S+)", text, re.M)) for text in (run, test, docs)]
    assert pins[0] <= pins[1]
    # The continuous integration installs the lock of the site into the environment of the tests.
    names = {pin.partition("==")[0] for pin in pins[1]}
    assert [pin for pin in sorted(pins[2] - pins[1]) if pin.partition("==")[0] in names] == []


def test_the_locks_name_no_host():
    for lock in (ROOT / "envs").glob("*.lock"):
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", lock.read_text()), lock


def test_the_remote_lock_has_the_extras_and_the_libraries_of_the_tests():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    test, remote = ((ROOT / "envs" / f"{name}.lock").read_text() for name in ("test", "remote"))
    for wanted in (*extras["slurm"], *extras["s3"], *extras["test-s3"]):
        assert f"\n{wanted.partition('[')[0]}==" in remote, wanted
        assert f"\n{wanted.partition('[')[0]}==" not in test, wanted
    pins = [set(re.findall(r"^([\w-]+==\S+)", text, re.M)) for text in (test, remote)]
    assert {pin.partition("==")[0] for pin in pins[0] - pins[1]} <= {"python-dateutil"}


def test_the_tested_pytorch_is_one_that_the_extra_allows():
    import tomllib

    from packaging.requirements import Requirement

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (wanted,) = map(Requirement, extras["learned"])
    (line,) = re.findall(r"^[^#\n]+", (ROOT / "envs" / "learned.txt").read_text(), re.M)
    name, version = line.split("==")
    assert name == wanted.name
    assert version in wanted.specifier
    assert "`pip install -c envs/learned.txt -e '.[learned]'`" in README


def test_the_container_has_the_tested_python_and_lock():
    text = (ROOT / "Dockerfile").read_text()
    lock = (ROOT / "envs" / "run.lock").read_text()
    (python,) = re.findall(r"^FROM python:(\d+\.\d+)-slim$", text, re.M)
    assert f"--python-version {python} " in lock.splitlines()[1]
    assert "--require-hashes -r envs/run.lock" in text
    assert "-r envs/run.lock" in README.partition("```sh")[2].partition("```")[0]
    assert 'ENTRYPOINT ["snakemake"]' in text
    assert (ROOT / "profiles" / "default" / "config.yaml").exists()  # which Snakemake finds next to the Snakefile

"""Plug-ins in a folder of the user: found with their options, and explained where they are wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from encoded import refuses, yaml_of

from protocol import registry
from protocol.cli import main
from protocol.configuration.options import options
from protocol.provenance import sources
from protocol.registry import folders
from protocol.registry.records import RECORDS

CONFIG = yaml_of("shared/own.yaml")
RECORD = '@HasherRecord("mine", source="x", deviations="none", bits_within_features=True, random=False)'
HASHER = f'''\
from protocol.hashers import Hasher
from protocol.registry import Positive
from protocol.registry import HasherRecord


{RECORD}
class Mine(Hasher):
    """Bits above a mean."""

    learned = {{"mean_": ("float32", "n_bits")}}
    width: Positive = 1.0

    def _fit(self, training, rng):
        self.mean_ = training.X[:, : self.n_bits].mean(axis=0)
        return {{}}

    def _encode(self, X):
        return X[:, : self.n_bits] > self.width * self.mean_
'''


@pytest.fixture
def own(here, monkeypatch):
    """Write files of the folder `own`, by name; everything that they register is forgotten after the test."""
    for kind in registry.REGISTRIES:
        registry.names(kind)
        monkeypatch.setitem(RECORDS, kind, dict(RECORDS[kind]))
    monkeypatch.setenv(folders.VARIABLE, "")

    def write(**files):
        for name, text in files.items():
            Path("own").mkdir(exist_ok=True)
            Path("own", f"{name}.py").write_text(text)

    yield write
    for name in [name for name in sys.modules if name.startswith("protocol.plugins.")]:
        del sys.modules[name]
        delattr(folders.PLUGINS, name.rpartition(".")[2])
    for cached in (options, sources._digest, sources._read):
        cached.cache_clear()


SETTING = re.compile(r"(?<=^protocol: )(my\.yaml, line \d+|--config \w+): ")


def checked(capsys, hasher="mine", **changes):
    """Return the exit status of `protocol check`, and what it printed, without the line of the config file."""
    Path("my.yaml").write_text(yaml.safe_dump(CONFIG | {"hashers": ["lsh", hasher]}))
    status = main(["check", "my.yaml", *(["--config"] * bool(changes)), *(f"{key}={changes[key]}" for key in changes)])
    out, err = capsys.readouterr()
    return status, out + SETTING.sub("", err)


def test_a_hasher_and_a_metric_in_a_folder_are_found_with_their_options(own, capsys):
    metric = (
        "from protocol.registry import MetricRecord\n\n\n"
        '@MetricRecord("none_found", source="x", range=(0, 1), better="lower", undefined="never", ties="none",\n'
        '    denominator="none")\n'
        'def none_found(counts, *, undefined="zero"):\n    """Whether the ball of radius 0 is empty."""\n'
        "    return (counts.retrieved[:, 0] == 0).astype(float)\n"
    )
    own(mine=HASHER, a_metric=metric, notes="raise SystemExit('a script that registers nothing is not run')")
    status, text = checked(capsys, metrics="[mAP,none_found]", hasher_options="{mine: {width: 2}}")
    assert status == 0
    assert "\nplugins    own: hasher mine, metric none_found\n           not checked: whether fits and codes " in text
    assert "lsh, mine" in text
    assert registry.get("hasher", "mine").__module__ == "protocol.plugins.mine"
    assert main(["list", "metrics", "none_found"]) == 0
    assert "\nrange: 0, 1\n" in capsys.readouterr().out
    own(no_record=HASHER.replace(RECORD, "").replace("HasherRecord", "Count"))
    put = "own/no_record.py defines it without a record. Put @HasherRecord(...) before it."
    assert checked(capsys, "no_record") == (2, f"protocol: unknown hasher 'no_record': {put}\n")
    refuses("^Unknown metric 'Mine': own/no_record.py .* Put @MetricRecord", registry.get, "metric", "Mine")
    assert checked(capsys, "mien")[1].startswith("protocol: unknown hasher 'mien'. Did you mean 'mine'? ")
    refuses("width must be a finite number > 0, got 0", registry.get("hasher", "mine")(width=0).check)


def test_a_split_in_a_folder_is_found(own, capsys):
    declared = '__name__, source="x", summary="Mine", partitions={"query": Drawn(5), "database": Rest()}'
    own(mine_split=f"from protocol.splits import Drawn, Rest, declare\n\ndeclare({declared})\n")
    assert main(["list", "splits", "mine_split", "--plugins", "own"]) == 0
    assert "\nquery: drawn, size 5\n" in capsys.readouterr().out


def test_files_find_their_neighbours_and_digests_cover_exactly_what_they_import(own, capsys):
    own(mine=HASHER.replace("from protocol.registry", "from .shared import SCALE\nfrom protocol.registry"))
    own(shared="SCALE = 1.0\n", other="# Record()\n", _private="raise ValueError")
    assert checked(capsys)[0] == 0
    covered = sorted(sources._contents(frozenset(["protocol.plugins.mine"]))[0])
    assert [file for file in covered if file.startswith("plugins/")] == ["plugins/mine.py", "plugins/shared.py"]
    assert "protocol/hashers/base.py" in covered

    def digest():
        for cached in (sources._digest, sources._read):
            cached.cache_clear()
        return sources.code_digest(hasher="mine"), sources.code_digest(hasher="lsh")

    before = digest()
    own(other="# Record(1)\n")
    assert digest() == before
    own(shared="SCALE = 2.0\n")
    after = digest()
    assert after[0] != before[0]
    assert after[1] == before[1]
    Path("own").rename("moved")
    os.environ[folders.VARIABLE] = str(Path("moved").absolute())
    assert digest() == after


def test_a_missing_folder_is_refused(own, capsys, monkeypatch):
    problem = f"no folder 'own' (looked in {Path.cwd()}).\n"
    assert checked(capsys) == (2, f"protocol: plugins: {problem}")
    monkeypatch.setenv(folders.VARIABLE, "own")
    assert (main(["list", "hashers"]), capsys.readouterr().err) == (2, f"protocol: {folders.VARIABLE}: {problem}")


WRONG = yaml_of("shared/wrong_plugins.yaml")


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["mistake"])
def test_a_wrong_file_is_one_line_with_its_name_and_line(own, capsys, case):
    own(mine=HASHER.replace(case["old"], case["new"]))
    assert case["old"] in HASHER
    status, line = checked(capsys)
    assert (status, line.count("\n")) == (2, 1)
    assert re.match(f"protocol: own/mine.py{case['message']}", line), line


def test_the_name_of_a_shipped_hasher_is_taken_for_all_who_request_it(own, capsys):
    own(mine=HASHER.replace('"mine"', '"itq"'), other=HASHER.replace('"mine"', '"other"'))
    taken = "two plug-ins have this name, in protocol/hashers/itq.py and in own/mine.py. Give yours another name."
    for hasher in ("itq", "other"):
        assert checked(capsys, hasher) == (2, f"protocol: own/mine.py, line 6: hasher 'itq': {taken}\n")
    code = "from protocol import registry; registry.get('hasher', 'lsh')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert taken in done.stderr  # also in a job, which has not read the plug-ins of the package


def test_a_file_may_have_another_name_than_its_plug_in_but_not_the_name_of_another_file(own, capsys, tmp_path):
    own(some_file=HASHER, os=HASHER.replace('"mine"', '"other"'))
    assert checked(capsys)[0] == 0
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "some_file.py").write_text(HASHER.replace('"mine"', '"hidden"'))
    folders.add("second")
    problem = f"another file has this name, {tmp_path}/own/some_file.py. Rename one of them."
    assert checked(capsys, "hidden")[1] == f"protocol: second/some_file.py: {problem}\n"

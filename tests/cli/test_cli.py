import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from protocol import __version__, cli, registry
from protocol.cli import main
from protocol.evaluation import CONVENTIONS

SCRIPT = Path(sysconfig.get_path("scripts")) / "protocol"
COMMANDS = [
    [],
    *([path.stem.replace("_", "-")] for path in sorted(Path(cli.__file__).parent.glob("[a-z]*.py"))),
]


@pytest.mark.parametrize("arguments", [[str(SCRIPT)], [sys.executable, "-m", "protocol"]], ids=["script", "module"])
def test_the_help_has_examples(arguments):
    done = subprocess.run([*arguments, "--help"], capture_output=True, text=True, check=True)
    for word in ("list", "examples:", "protocol list metrics", "snakemake "):
        assert word in done.stdout
    assert done.stderr == ""


def printed(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert stopped.value.code == 0
    return capsys.readouterr().out.rstrip().split("\n")


def test_the_help_has_five_examples(capsys):
    lines = printed(capsys, "--help")
    examples = [line for line in lines[lines.index("examples:") + 1 :] if line.startswith(("  protocol", "  snake"))]
    assert len(examples) == 5


@pytest.mark.parametrize(("width", "height"), [(100, 40), (80, 46)])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_fits_on_a_screen_and_the_complete_help_contains_it(command, width, height, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    short = printed(capsys, *command, "--help")
    assert len(short) <= height
    assert "examples:" in short
    complete = printed(capsys, *command, "--help-all")
    options, all_options = (set(re.findall("--[a-z-]+", "\n".join(lines))) for lines in (short, complete))
    assert options <= all_options | {"--help-all"}
    assert max(map(len, complete)) <= 104


def test_list_shows_every_plug_in_with_its_source(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for kind in registry.PACKAGES:
        for entry in registry.entries(kind):
            assert f"  {entry.name} " in out
            assert entry.summary in out
            assert f"[{entry.source}]" in out


@pytest.mark.parametrize("how", [[], ["--markdown"]])
def test_list_shows_what_files_a_dataset_needs_and_how_to_get_those_that_are_not_fetched(capsys, how):
    assert main(["list", "datasets", *how]) == 0
    out = capsys.readouterr().out
    for entry in registry.entries("dataset"):
        for file in entry.files:
            assert file.name in out
            assert file.by_hand in out
    assert "ConceptsList.zip, NUS_WID_Tags.zip; BoW_int.dat (by hand: extract it from" in out
    assert "raw_features.mat, trainset_txt_img_cat.list, testset_txt_img_cat.list (by hand: extract it from" in out
    assert out.count("none to download") == sum(not entry.files for entry in registry.entries("dataset")) > 0


def test_list_of_one_kind_shows_that_kind_only(capsys):
    assert main(["list", "hashers"]) == 0
    out = capsys.readouterr().out
    assert "itq" in out
    assert "epsilon_ball" not in out


def test_list_shows_the_conventions(capsys):
    assert main(["list", "conventions"]) == 0
    alone = capsys.readouterr().out
    assert main(["list"]) == 0
    assert capsys.readouterr().out.endswith(alone)
    assert main(["list", "conventions", "--markdown"]) == 0
    table = capsys.readouterr().out
    for rules in CONVENTIONS:
        assert f"  {rules.name} " in alone
        for text in (rules.name, rules.summary, rules.source):
            assert text in alone
            assert text in table


def test_an_unknown_kind_is_refused_with_the_known_ones(capsys):
    assert main(["list", "hashres"]) == 2
    assert capsys.readouterr().err == (
        "protocol: kind: expected conventions, datasets, features, findings, ground_truths, hashers, metrics or "
        "splits, got 'hashres'. Did you mean 'hashers'?\n"
    )


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"protocol {__version__}\n"


def test_a_closed_pipe_is_not_an_error():
    done = subprocess.run(f"{sys.executable} -m protocol list | head -1", shell=True, capture_output=True, text=True)
    assert done.stdout == "datasets\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
def test_a_full_disk_is_reported_in_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "protocol", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr

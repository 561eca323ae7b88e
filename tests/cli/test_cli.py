"""Help, the version, imports, and `protocol list` as a whole."""

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from protocol import __version__, cli, registry
from protocol.auditing import KIND_OF
from protocol.cli import main
from protocol.evaluation import CONVENTIONS

SCRIPT = Path(sysconfig.get_path("scripts")) / "protocol"
COMMANDS = [[], *([path.stem.replace("_", "-")] for path in sorted(Path(cli.__file__).parent.glob("[a-z]*.py")))]


def test_the_installed_command(tmp_path):
    for program in ([str(SCRIPT)], [sys.executable, "-m", "protocol"]):
        done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"protocol {__version__}\n", "")
    (tmp_path / "query.txt").write_text("a\nb\n")
    for database, status in (("query.txt", 1), ("none.txt", 2)):
        command = [*program, "audit", "--query", "query.txt", "--database", database]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == status


def printed(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert stopped.value.code == 0
    return capsys.readouterr().out.rstrip().split("\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_fits_on_a_screen_and_the_complete_help_contains_it(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short = printed(capsys, *command, "--help")
    assert len(short) <= 46
    assert "examples:" in short
    complete = printed(capsys, *command, "--help-all")
    options, all_options = (set(re.findall("--[a-z-]+", "\n".join(lines))) for lines in (short, complete))
    assert options <= all_options | {"--help-all"}
    assert max(map(len, complete)) <= 104
    assert not any(line.endswith("-") for line in complete)  # within a word


LISTED = {kind: list(registry.entries(kind)) for kind in registry.REGISTRIES}
LISTED |= {"finding": list(KIND_OF.values()), "convention": list(CONVENTIONS)}


def test_list_shows_every_name_with_its_source(capsys):
    assert main(["list"]) == 0
    everything = capsys.readouterr().out
    for kind, entries in LISTED.items():
        assert main(["list", f"{kind}s"]) == 0
        alone = capsys.readouterr().out
        assert alone in everything
        names = [line.split()[0] for line in alone.split("\n")[1:] if re.match("  [^ ]", line)]
        assert names == [entry.name for entry in entries]
        for entry in entries:
            assert entry.summary in alone
            assert f"[{entry.source}]" in alone


def test_list_shows_what_files_a_dataset_needs_and_how_to_get_those_that_are_not_fetched(capsys):
    assert main(["list", "datasets"]) == 0
    out = capsys.readouterr().out
    for file in (file for entry in registry.entries("dataset") for file in entry.files):
        assert file.name in out
        assert file.by_hand in out
    assert out.count("none to download") == sum(not entry.files for entry in registry.entries("dataset")) > 0


HEAVY = ("sklearn", "pandas", "cv2", "numba", "torch", "scipy", "h5py", "tqdm", "jinja2", "jsonschema", "yaml")
CODES = "evaluate --query-codes c.npy --database-codes c.npy --query-labels y.npy --database-labels y.npy"
LIGHT = [
    (["--help"], (*HEAVY, "protocol.evaluation")),
    (["list", "splits"], ("jsonschema", "yaml", "sklearn", "torch")),
    (CODES.split(), HEAVY),
]


@pytest.mark.parametrize(("arguments", "heavy"), LIGHT, ids=lambda value: value[0])
def test_commands_import_no_library_that_they_do_not_need(arguments, heavy, tmp_path):
    np.save(tmp_path / "c.npy", np.eye(8, dtype=bool))
    np.save(tmp_path / "y.npy", np.arange(8) % 2)
    code = (
        "import sys; from protocol import progress; from protocol.cli import main; progress._FIRST = 10**6\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""

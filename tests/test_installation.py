"""The wheel: in an environment with NumPy alone it scores codes, and it contains the workflow."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

from protocol import checks, evaluation
from protocol.counting import counting
from protocol.counting._compiled import BitPlanes

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPMENT = {"build", "docs", "s3", "slurm", "test", "test-s3"}
# The modules of distributions that have another name.
DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}


def libraries(extra):
    """Return the names of the distributions in an extra, without those of the extras that it contains."""
    return [
        re.split("[<>=]", requirement)[0]
        for requirement in EXTRAS[extra]
        if not requirement.startswith("hashing-protocol[")
    ]


READ = re.compile(r"\w+\.\w+: \d+ items, .*\n")
"""A line on standard error that says how a command read an input."""


def outside():
    """Return the environment variables without what leads a new process to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def run(*command, folder, **variables):
    return subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=outside() | {"PYTHONDONTWRITEBYTECODE": "1"} | variables,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built with the backend that is installed, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    done = run(sys.executable, "-m", "pip", "wheel", *options, "-w", folder, ROOT, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.iterdir()
    return found


def install(wheel, *options, python=sys.executable):
    """Install the wheel without its dependencies, with the pip of the tests' environment."""
    command = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    done = run(*command, *options, wheel, folder=wheel.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    """The folder of the programs of an environment that has the wheel, NumPy, and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    venv.EnvBuilder(symlinks=True).create(folder)
    programs = folder / "bin"
    install(wheel, python=programs / "python")
    where = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder)
    # Links to the installed NumPy, because a registry may be out of reach.
    numpy = distribution("numpy")
    tops = sorted({Path(str(file)).parts[0] for file in numpy.files} - {".."})
    for top in tops:
        (Path(where.stdout.strip()) / top).symlink_to(Path(str(numpy.locate_file(top))).resolve())
    return programs


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with codes and labels in every format that NumPy alone reads, and in HDF5."""
    h5py = pytest.importorskip("h5py")
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    query, database = rng.integers(0, 2, (30, 64)), rng.integers(0, 2, (400, 64))
    np.save(folder / "query.npy", query)
    np.savez(folder / "database.npz", codes=database)
    np.savetxt(folder / "query_labels.csv", rng.integers(0, 5, 30), fmt="%d")
    np.savetxt(folder / "database_labels.txt", rng.integers(0, 5, 400), fmt="%d")
    with h5py.File(folder / "query.h5", "w") as file:
        file["codes"] = query
    np.save(folder / "query_rows.npy", np.arange(30))
    np.save(folder / "database_rows.npy", np.arange(30, 430))
    return folder


INPUTS = {
    "query_codes": "query.npy",
    "database_codes": "database.npz:codes",
    "query_labels": "query_labels.csv",
    "database_labels": "database_labels.txt",
}
OPTIONS = [part for name, file in INPUTS.items() for part in (f"--{name.replace('_', '-')}", file)]


def test_the_environment_has_numpy_alone(core, files):
    listed = "from importlib.metadata import distributions as d; print(*sorted(one.metadata['Name'] for one in d()))"
    assert run(core / "python", "-c", listed, folder=files).stdout.split() == ["hashing-protocol", "numpy"]


def test_the_command_line_scores_codes_and_verifies_their_record_with_numpy_alone(core, files, tmp_path, monkeypatch):
    outputs = ("--spread", "--tables", "16x4", "--json", tmp_path / "means.json")
    done = run(core / "protocol", "evaluate", *OPTIONS, *outputs, folder=files, PYTHONWARNINGS="error")
    assert (done.returncode, READ.sub("", done.stderr)) == (0, "")
    # Here the compiled loops count.
    monkeypatch.setattr(counting, "_choose", lambda *_: BitPlanes)
    inputs = {name: str(files / file) for name, file in INPUTS.items()}
    found, buckets = evaluation.evaluate(**inputs), evaluation.bucket_search(**inputs, tables=["16x4"])
    found.write_json(tmp_path / "expected.json", found.spread(), buckets)
    means, expected = (json.loads((tmp_path / name).read_text()) for name in ("means.json", "expected.json"))
    spreads = [[row.pop("value") for row in one["spread"]] for one in (means, expected)]
    assert means == expected
    np.testing.assert_allclose(*spreads, rtol=1e-12)  # mAP[database-order] is a sum in another order
    assert done.stdout == f"{found}\n\n{found.spread()}\n\n{buckets}\n"
    verified = run(core / "protocol", "verify", tmp_path / "means.json", folder=files, PYTHONWARNINGS="error")
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.parametrize(
    "command", ["list", "audit --query query_rows.npy --database database_rows.npy", "list snakefile"]
)
def test_commands_that_need_no_extra(core, files, command):
    done = run(core / "protocol", *command.split(), folder=files, PYTHONWARNINGS="error")
    assert (done.returncode, READ.sub("", done.stderr)) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (" ".join(["evaluate", *OPTIONS]).replace("query.npy", "query.h5"), "hdf5"),
        ("compare a.csv b.csv --html c.html", "report"),
        ("check", "pipeline"),
    ],
    ids=lambda value: value.split()[0],
)
def test_a_command_names_the_extra_that_it_needs_in_one_line(core, files, command, extra):
    done = run(core / "protocol", *command.split(), folder=files, PYTHONWARNINGS="error")
    assert (done.returncode, done.stdout) == (2, "")
    add = rf"Add the extra {extra} to the installed package: pip install 'hashing-protocol\[{extra}\]'"
    expected = rf"protocol: \w+ is not installed\. {add}\n"
    assert re.fullmatch(expected, done.stderr)


def install_hint(extra):
    return re.escape(checks.install_hint(extra))


SLOW_COUNTING = rf"numba is not installed, so counting uses NumPy, .*\. {install_hint('fast')}"


def test_counting_without_numba_warns_once_where_it_would_save_seconds(monkeypatch):
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 256, (n, 4), dtype=np.uint8) for n in (3, 200)]
    relevance = {"label": counting.LabelRelevance(rng.integers(0, 3, 3), rng.integers(0, 3, 200))}
    monkeypatch.setattr(counting, "_numba_is_installed", lambda: False)
    monkeypatch.setattr(counting, "_COMPILED_START", 0.0)
    checks.warn_once.cache_clear()
    counting.count(*codes, 32, relevance)  # too little work for a warning
    monkeypatch.setattr(counting, "_WORTH_A_WARNING", 0.0)
    with pytest.warns(UserWarning, match=f"^{SLOW_COUNTING}$"):
        counting.count(*codes, 32, relevance)
    counting.count(*codes, 32, relevance)  # a second warning would be an error


def test_the_table_of_extras_is_that_of_the_project():
    text = (ROOT / "docs" / "how-to" / "install.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (.+?) \| (.*?) ?\|$", text, re.M)
    assert {name: listed.split(", ") if listed else [] for name, _, listed in rows} == {
        name: libraries(name) for name in EXTRAS if name not in FOR_DEVELOPMENT
    }
    assert set(re.findall(r"`([\w-]+)`", text)) >= FOR_DEVELOPMENT
    assert EXTRAS["pipeline"][0] == "hashing-protocol[fast,hdf5,report]"
    assert EXTRAS["all"] == ["hashing-protocol[faiss,learned,pipeline]"]


def test_every_optional_module_is_named_with_the_extra_that_installs_it():
    extra_of = {name: extra for extra in EXTRAS if extra not in FOR_DEVELOPMENT for name in libraries(extra)}
    extras = {module: extra for extra, modules in checks._EXTRAS.items() for module in modules}
    for module, extra in extras.items():
        assert extra_of.pop(DISTRIBUTIONS.get(module, module)) == extra, module
    assert list(extra_of) == ["snakemake"]  # which the package does not import
    for path in (ROOT / "protocol").rglob("*.py"):
        for module, extra in re.findall(r'\bneed\("(\w+)[\w.]*", "(\w+)"\)', path.read_text()):
            assert extras[module] == extra, path


@pytest.fixture(scope="module")
def target(wheel, tmp_path_factory):
    """A folder with the installed wheel, for an environment that has everything else."""
    folder = tmp_path_factory.mktemp("target")
    install(wheel, "--target", folder)
    return folder


def blocks(page):
    """Return the text of each block of a page in docs/how-to/, with its language."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
    return re.findall(r"^```(python|sh|yaml)\n(.*?)^```$", text, re.S | re.M)


def in_shell(commands, target, folder):
    """Run commands with the programs of the installed wheel, and return what they print."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("protocol", "snakemake"):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {name} "$@"\n')
        (programs / name).chmod(0o755)
    variables = {"PYTHONPATH": str(target), "PATH": f"{programs}:{os.environ['PATH']}"}
    done = run("bash", "-e", "-c", commands, folder=folder, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.ci
def test_the_installed_workflow_is_a_module_of_another(target, tmp_path):
    """As the guide to the workflow as a module shows it, in an empty folder."""
    page = "use-the-workflow-elsewhere"
    copy, run_it, *_ = (text for language, text in blocks(page) if language == "sh")
    (shown,) = (text for _, text in blocks(page) if "from protocol.shipped" in text)
    in_shell(copy, target, tmp_path)
    assert (tmp_path / "my.yaml").read_text() == (ROOT / "config" / "config.yaml").read_text()
    (tmp_path / "Snakefile").write_text(shown)
    plain, one = run_it.splitlines()
    assert re.search(r"^hashing_report +1$", in_shell(f"{plain} --dry-run", target, tmp_path), re.M)
    assert "hashing_metrics" in in_shell(f"{one} --dry-run", target, tmp_path)
    in_shell(one.replace("metrics", "dataset"), target, tmp_path)  # and no option with the number of cores
    assert list(tmp_path.glob("results/datasets/*/content.h5"))
    (tmp_path / "my.yaml").write_text((tmp_path / "my.yaml").read_text() + "reproduction: true\n")
    planned = in_shell("snakemake --filegraph -- hashing_report hashing_paper", target, tmp_path)
    assert "cifar10_gist.csv" in planned
    assert "results/reference/cifar10/full.csv" in planned


@pytest.mark.ci
def test_the_installed_package_runs_a_folder_of_own_plug_ins(target, tmp_path):
    """With the hasher and the config file of the guide; an edit of the hasher reruns exactly its jobs."""
    (hasher, *_), (config,) = (
        [text for language, text in blocks("add-a-hasher") if language == wanted] for wanted in ("python", "yaml")
    )
    file = tmp_path / "my_plugins" / "ridge_codes.py"
    file.parent.mkdir()
    file.write_text(hasher)
    (tmp_path / "my.yaml").write_text(config)
    assert "\nplugins    my_plugins: hasher ridge_codes\n" in in_shell("protocol check my.yaml", target, tmp_path)
    command = "protocol run --configfile my.yaml {} -- metrics"
    in_shell(command.format(""), target, tmp_path)
    assert ",ridge_codes,32,none,0,mAP," in (tmp_path / "results" / "mine" / "summary.csv").read_text()
    assert "Nothing to be done" in in_shell(command.format("--dry-run"), target, tmp_path)
    file.write_text(hasher.replace("[-1.0, 1.0]", "[-2.0, 2.0]"))
    planned = in_shell(command.format("--dry-run --quiet rules"), target, tmp_path)
    counts = dict(re.findall(r"^(\w+) +(\d+)$", planned.partition("Job stats")[2].partition("Job stats")[0], re.M))
    assert counts == {"model": "4", "count": "2", "score": "2", "metrics": "1", "total": "9"}

"""The order of the packages, and what each may import."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "protocol"
LAYERS = (
    {"checks", "plugins"},
    {"compiled", "external", "options", "pages", "parallel", "plugin_folders", "shipped", "styles"},
    {"provenance"},
    {"downloads"},
    {"codes", "registry"},
    {"inputs"},
    {"scores"},
    {"datasets", "features", "hashers", "quantisers", "splits", "truth"},
    {"counting"},
    {"metrics"},
    {"evaluation", "selection", "studies"},
    {"duplicates", "evaluators"},
    {"auditing"},
    {"report"},
    {"comparison", "papers"},
    {"verification"},
    {"configuration"},
    {"cli"},
)
"""The packages and modules of the package, from bottom to top; each imports only what stands in a lower layer."""
LAYER_OF = {name: number for number, layer in enumerate(LAYERS) for name in layer}
HEAVY = (
    "h5py",
    "sklearn",
    "pandas",
    "cv2",
    "faiss",
    "numba",
    "torch",
    "scipy",
    "altair",
    "vl_convert",
    "jinja2",
    "tqdm",
)


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "protocol"
                else [node.module or ""]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("protocol.")}
    return found - {"__version__"}


def package_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return {"__main__": "cli"}.get(part, part)


def offences(path: Path, imported: set[str]) -> set[str]:
    package = package_of(path)
    return {name for name in imported - {package} if LAYER_OF[name] >= LAYER_OF[package]} - (
        {"cli"} if path.name == "__main__.py" else set()
    )


@pytest.mark.parametrize(
    "path",
    [p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py"],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_packages_import_only_what_lies_before_them(path):
    assert not offences(path, imported_packages(path))


def test_the_rule_rejects_a_sibling():
    assert offences(PACKAGE / "hashers" / "itq.py", {"checks", "codes", "metrics"}) == {"metrics"}
    assert offences(PACKAGE / "provenance" / "storage.py", {"codes"}) == {"codes"}


def import_graph(files: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports, wherever in its text the import stands, also for type checkers."""
    graph = {}
    for module, text in files.items():
        found = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= names & set(files) or {node.module}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        graph[module] = found & set(files) - {module}
    return graph


def test_no_modules_import_each_other():
    """Leave out protocol/__init__.py, which loads public names on first use; others take only its version."""
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
    }
    graphlib.TopologicalSorter(import_graph(files)).prepare()
    late = "\nif TYPE_CHECKING:\n    from protocol.{} import anything\n"
    for module, imported in (
        ("checks", "provenance.storage"),
        ("evaluation.printed", "evaluation"),
        ("splits._files", "splits"),
    ):
        changed = files | {f"protocol.{module}": files.get(f"protocol.{module}", "") + late.format(imported)}
        with pytest.raises(graphlib.CycleError):
            graphlib.TopologicalSorter(import_graph(changed)).prepare()


def test_nothing_in_the_package_knows_snakemake():
    for path in PACKAGE.rglob("*.py"):
        assert "import snakemake" not in path.read_text()


def test_listing_every_plug_in_imports_nothing_heavy():
    code = (
        "import sys; from protocol import registry\n"
        "for kind in registry.PACKAGES: list(registry.entries(kind))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FREQUENT = ("count", "sample", "ground_truth", "model", "preprocessing", "score", "split")
"""The scripts of the rules with most jobs, whose start takes most of their time."""


@pytest.mark.parametrize("module", [*FREQUENT, "protocol.cli.evaluate", "protocol.evaluation"])
def test_short_tasks_start_without_heavy_libraries(module):
    code = f"import sys; sys.path.append('workflow/scripts'); import {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {*HEAVY, "importlib.metadata"} == set()


def test_scripts_are_thin():
    too_long = {}
    for path in (ROOT / "workflow" / "scripts").glob("*.py"):
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path.name
        if path.name == "job.py":
            continue
        (main,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        lines = main.end_lineno - main.body[0].end_lineno
        assert main.name == "main", path.name
        if lines > 25:
            too_long[path.name] = lines
    assert not too_long


@pytest.mark.parametrize(
    "script", [p for p in (ROOT / "workflow" / "scripts").glob("*.py") if p.name != "job.py"], ids=lambda p: p.stem
)
def test_a_rule_depends_on_its_script_and_on_the_plug_ins_that_this_gets(script):
    """The digest in `params` is what makes an edit rerun a rule; a plug-in left out of it leaves stale results."""
    from protocol.registry import PACKAGES

    rules = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    if script.stem == "download":
        return  # a file that is checked by its digest can't be stale
    calls = re.findall(rf'code(?:_of)?\(\s*"{script.name}"(.*?)\),\n    \w', rules, re.S)
    assert calls
    text = script.read_text()
    gets = {kind for kind in PACKAGES if f'registry.get("{kind}"' in text}
    gets |= {"metric"} if re.search(r"^from protocol\.metrics import .*\bevaluate\b", text, re.M) else set()
    for call in calls:
        users = re.findall(r'"([A-Za-z_ ]+)"', call)
        named = {USERS.get(user, user) for user in users} | set(re.findall(r"(\w+)=", call))
        assert gets <= named or "**REPORT_PLUGINS" in call


# The kinds of plug-ins that jobs use, by the names that the rules have for them.
USERS = {
    "extraction": "feature",
    "sample": "split",
    "ground_truths": "ground_truth",
    "supervision": "ground_truth",
    "selection": "ground_truth",
    "mAP": "metric",
    "selection metric": "metric",
}

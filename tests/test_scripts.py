"""What short tasks import, and what the scripts of the rules contain and depend on; pyproject.toml has the layers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from protocol import checks
from protocol.registry import REGISTRIES

ROOT = Path(__file__).parents[1]
HEAVY = {module for modules in checks._EXTRAS.values() for module in modules} - {"threadpoolctl", "yaml"}
"""The modules of extras, without two that load in milliseconds."""
FREQUENT = ("count", "sample", "ground_truth", "model", "preprocessing", "score", "split")
"""The scripts of the rules with most jobs, whose start takes most of their time."""


PLUGINS = "from protocol import registry\nfor kind in registry.REGISTRIES: list(registry.entries(kind))"
TASKS = f"sys.path.append('workflow/scripts'); import {', '.join(FREQUENT)}, protocol.cli.evaluate, protocol.evaluation"


@pytest.mark.parametrize(("code", "absent"), [(PLUGINS, HEAVY), (TASKS, {*HEAVY, "importlib.metadata"})])
def test_lists_of_plug_ins_and_short_tasks_start_without_heavy_libraries(code, absent):
    command = [sys.executable, "-c", f"import sys; {code}\nprint(*sys.modules)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & absent == set()


@pytest.mark.parametrize(
    "script", [p for p in (ROOT / "workflow" / "scripts").glob("*.py") if p.name != "job.py"], ids=lambda p: p.stem
)
def test_a_rule_depends_on_its_script_and_on_the_plug_ins_that_this_gets(script):
    """The digest in `params` is what makes an edit rerun a rule; a plug-in left out of it leaves stale results."""
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    if script.stem == "download":
        return  # a file that is checked by its digest can't be stale
    calls = re.findall(rf'code(?:_of)?\(\s*"{script.name}"(.*?)\),\n    \w', rules, re.S)
    assert calls
    text = script.read_text()
    gets = {kind for kind in REGISTRIES if f'registry.get("{kind}"' in text}
    gets |= {"metric"} if re.search(r"^from protocol\.metrics import .*\bevaluate\b", text, re.M) else set()
    for call in calls:
        assert gets <= set(re.findall(r"(\w+)=", call))

import re
import subprocess
import sys
import tomllib


def test_the_guide_for_contributors_lists_the_layers_of_the_contract(root):
    contract = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    packages = [name for layer in contract["layers"] for name in layer.split(" | ")]
    guide = (root / "CONTRIBUTING.md").read_text()
    listed = re.findall(r"^\|[^|]*\| `protocol/(\w+)(?:/|\.py)` \|", guide, re.MULTILINE)
    in_layers = {name: number for number, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    assert sorted(listed) == sorted(packages)
    assert [in_layers[name] for name in listed] == sorted(in_layers.values())


def test_the_list_of_faults_follows_the_code(root):
    done = subprocess.run(
        [sys.executable, root / "tests/benchmarks/faults.py", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")

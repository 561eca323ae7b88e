"""The tutorials work as shown, from the folder that each names: every command and every file, up to the reports."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_blocks import DOCS, Block, blocks

TUTORIALS = DOCS / "tutorials"
SESSION = "five-lines-in-a-notebook"
LESSONS = sorted(page.stem for page in TUTORIALS.glob("*.md") if page.stem not in ("index", SESSION))
COPY = "git ls-files -zco --exclude-standard | tar -c --null -T - | tar -xC {}"
IMPOSSIBLE = ("not run: installs an environment", "not run: needs CIFAR-10")
SEPARATOR = "=== next block ==="


def test_the_page_shows_what_its_code_prints():
    # Markdown's fences end an example as a blank line does.
    page = TUTORIALS / f"{SESSION}.md"
    test = doctest.DocTestParser().get_doctest(page.read_text().replace("```", ""), {}, page.name, str(page), 0)
    report = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


def program(block: Block, file: str) -> str:
    """Return Python code that does what a reader does with a block: run it, or save it in a file."""
    if file:
        return f"pathlib.Path({file!r}).write_text({block.text!r})\n"
    if block.language == "python":
        return block.text
    printed = ", stderr=subprocess.STDOUT" if block.text.startswith("snakemake") else ""
    check = not block.text.startswith("protocol audit")  # which fails if it finds an error, as in this lesson
    run = f"subprocess.run(['bash', '-c', {block.text!r}], check={check}{printed})\n"
    return run + "".join(f"os.chdir({folder!r})\n" for folder in re.findall(r"\bcd (\w+)", block.text))


@pytest.mark.nightly
@pytest.mark.parametrize("name", LESSONS)
def test_a_tutorial_works_from_an_empty_folder(name, root, tmp_path):
    text = (TUTORIALS / f"{name}.md").read_text()
    if "import torch" in text:
        pytest.importorskip("torch", reason="torch is not installed")
    environment = os.environ | {"COLUMNS": "100", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if "Work in a checkout" in " ".join(text.split()):
        subprocess.run(COPY.format(tmp_path), shell=True, cwd=root, check=True)
        environment["PYTHONPATH"] = str(tmp_path)
    files = dict.fromkeys(re.findall(r"This is `(\S+)`:\n\n```python\n(.*?)```", text, re.DOTALL))
    files = {code: file for file, code in files}
    shown, code = [], "import os, pathlib, subprocess\n"
    for block in blocks(text):
        if not (block.reason or "").startswith(IMPOSSIBLE):
            file = block.text.split()[1] if block.language == "yaml" else files.get(block.text, "")
            shown.append(block)
            code += f"print({SEPARATOR!r}, flush=True)\n{program(block, file)}"
    lesson = tmp_path / "lesson.py"
    lesson.write_text(code)
    done = subprocess.run([sys.executable, lesson], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for block, printed in zip(shown, done.stdout.split(f"{SEPARATOR}\n")[1:], strict=True):
        assert block.shows(printed), f"{block.text}\nprints\n{printed}"

"""Every block of the docs is run, by this file or by one that it names, or its page states why it is not run."""

import re

import pytest
import yaml
from page_blocks import DOCS, blocks, folder_of_a_reader

from protocol import configuration, registry, shipped
from protocol.registry.records import RECORDS
from protocol.shipped import configs

# Pages whose blocks need more than an empty folder, a search or an exit status of 0, and the test that runs them.
ELSEWHERE = {
    "how-to/add-a-hasher": "docs/test_add_a_hasher.py",
    "explanation/same-codes-three-numbers": "evaluation/test_published_codes.py",
    "explanation/one-byte-in-a-helper": "evaluators/test_search.py",
    "how-to/keep-a-leaderboard": "docs/test_leaderboard.py",
    "how-to/train-on-our-split": "workflow/test_precomputed_codes.py",
    "tutorials/five-lines-in-a-notebook": "docs/test_tutorials.py",
}
WRITTEN = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("[!_r]*/*.md"))
PAGES = [page for page in WRITTEN if page not in ELSEWHERE]


@pytest.fixture
def plug_ins(monkeypatch):
    """Forget the plug-ins that a page registers."""
    for kind in registry.REGISTRIES:
        registry.names(kind)
        monkeypatch.setitem(RECORDS, kind, dict(RECORDS[kind]))


@pytest.mark.usefixtures("plug_ins")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_print_what_the_page_shows(page, tmp_path):
    of_page = list(blocks((DOCS / f"{page}.md").read_text()))
    if any("import torch" in block.text for block in of_page):
        pytest.importorskip("torch", reason="torch is not installed")
    with folder_of_a_reader(tmp_path) as namespace:
        for block in of_page:
            if block.runs:
                printed = block.printed(namespace)
                assert block.shows(printed), printed


@pytest.mark.parametrize("page", PAGES)
def test_config_files_of_the_page_are_accepted(page, here):
    """A file with `dataset` is complete; others change keys of the default."""
    default = yaml.safe_load(shipped.DEFAULT.read_text())
    (here / "mirror").mkdir()
    for block in blocks((DOCS / f"{page}.md").read_text()):
        if block.language == "yaml" and block.reason is None:
            config = yaml.safe_load(block.text)
            assert configuration.load(config if "dataset" in config else default | config)


@pytest.mark.parametrize("page", WRITTEN)
def test_paths_of_the_page_exist(page, root):
    text = (DOCS / f"{page}.md").read_text()
    for path in re.findall(r"`((?:protocol|workflow|envs|tests|docs|results/reference)/[\w./-]+)`", text):
        assert (root / path).exists() or re.search(rf"(Write|This is|^)\s*`{re.escape(path)}`:", text, re.M), path
    for name in re.findall(r"`(\w+[.]yaml)`", text):
        own = (f"# {name}", f"here `{name}`", f'"{name}"')
        assert name in {path.name for path in configs().values()} or any(words in text for words in own), name

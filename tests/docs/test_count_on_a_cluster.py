"""The config files in the guide to shards are valid, and divide the counting."""

import itertools

import numpy as np
import pytest
import yaml
from page_blocks import DOCS, blocks

from protocol import configuration

CONFIGS = [
    yaml.safe_load(block.text)
    for block in blocks((DOCS / "how-to" / "count-on-a-cluster.md").read_text())
    if block.language == "yaml"
]


@pytest.mark.parametrize("changes", CONFIGS)
def test_the_config_files_divide_the_counting(changes, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    synthetic = yaml.safe_load((root / "workflow" / "config" / "synthetic.yaml").read_text())
    config = synthetic | changes
    sizes = configuration.load(config | {"codes": {}}).sizes
    for method in config.get("codes", {}).values():
        for role, split, n_bits in itertools.product(("query", "database"), config["splits"], config["n_bits"]):
            file = tmp_path / method[role].format(split=split, run=0, n_bits=n_bits)
            file.parent.mkdir(parents=True, exist_ok=True)
            np.lib.format.open_memmap(file, "w+", np.uint8, (sizes(split)[role], n_bits // 8))  # a sparse file
    assert len(configuration.Plan(configuration.load(config)).shards) == 100
    assert len(CONFIGS) == 2

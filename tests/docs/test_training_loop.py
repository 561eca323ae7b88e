"""The blocks of docs/how-to/evaluate-in-a-training-loop.md, with modules that stand in for the packages."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from encoded import yaml_of
from page_blocks import DOCS, blocks

import protocol as hp

PAGE = (DOCS / "how-to" / "evaluate-in-a-training-loop.md").read_text()
BLOCKS = {name: block.text for block in blocks(PAGE) for name in re.findall(r"^import (\w+)", block.text, re.MULTILINE)}
OUTPUTS, LABELS = np.random.default_rng(0).normal(size=(60, 16)), np.arange(60) % 3
BATCHES = [(0, slice(0, 20)), (1, slice(20, 40)), (1, slice(40, 60))]


@pytest.mark.parametrize(("package", "names"), yaml_of("docs/logged.yaml"))
def test_the_scores_of_all_batches_are_logged(package, names, monkeypatch):
    logged, evaluator = {}, hp.Evaluator(binarize="sign", metrics=["mAP", "mAP@5[all]"])
    log = {name: lambda scores, step=3: logged.update({step: scores}) for name in ("log", "log_dict", "log_metrics")}
    monkeypatch.setitem(sys.modules, package, SimpleNamespace(Callback=object, **log))
    namespace, module = {"evaluator": evaluator, "epoch": 3}, SimpleNamespace(**log)
    evaluator.add_queries(OUTPUTS[:20], LABELS[:20])  # those of an earlier epoch for Lightning, which adds its own
    evaluator.add_database(OUTPUTS[20:], LABELS[20:])
    exec(BLOCKS[package], namespace)
    if package == "pytorch_lightning":
        callback = namespace["Retrieval"]()
        callback.on_validation_epoch_start(None, module)
        for loader, rows in BATCHES:
            callback.on_validation_batch_end(None, module, OUTPUTS[rows], (None, LABELS[rows]), 0, loader)
        callback.on_validation_epoch_end(None, module)
    pair = hp.Codes(OUTPUTS[:20], binarize="sign"), hp.Codes(OUTPUTS[20:], binarize="sign")
    expected = hp.evaluate(*pair, query_labels=LABELS[:20], database_labels=LABELS[20:], metrics=["mAP", "mAP@5[all]"])
    assert logged == {3: dict(zip(names, expected.metrics.values(), strict=True))}

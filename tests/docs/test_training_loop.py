"""The callbacks of docs/how-to/evaluate-in-a-training-loop.md with the real packages, where they are installed."""

import re

import numpy as np
import pytest
from page_blocks import DOCS, blocks

import protocol as hp

PAGE = (DOCS / "how-to" / "evaluate-in-a-training-loop.md").read_text()
BLOCKS = {name: block.text for block in blocks(PAGE) for name in re.findall(r"^import (\w+)", block.text, re.MULTILINE)}
# The packages warn about other packages and their own future.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_lightning(tmp_path):
    pl = pytest.importorskip("pytorch_lightning", reason="needs PyTorch Lightning")
    import torch

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 16)

        def training_step(self, batch, _):
            return self.layer(batch[0]).square().mean()

        def validation_step(self, batch, _, dataloader_idx=0):
            return self.layer(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    X, y = torch.randn(60, 6), torch.randint(0, 3, (60,))
    train, query, database = (
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[rows], y[rows]), batch_size=8)
        for rows in (slice(0, 60), slice(0, 20), slice(20, 60))
    )
    evaluator = hp.Evaluator(binarize="sign", metrics=["mAP", "precision@r2"])
    namespace = {"evaluator": evaluator}
    exec(BLOCKS["pytorch_lightning"], namespace)
    module, options = Module(), {"accelerator": "cpu", "num_sanity_val_steps": 0, "default_root_dir": tmp_path}
    quiet = ("enable_progress_bar", "enable_model_summary", "enable_checkpointing", "logger")
    options |= dict.fromkeys(quiet, False) | {"callbacks": [namespace["Retrieval"]()]}
    trainer = pl.Trainer(max_epochs=2, **options)
    trainer.fit(module, train, [query, database])
    outputs = module.layer(X).detach().numpy()
    labels = {"query_labels": y[:20], "database_labels": y[20:], "metrics": ["mAP", "precision@r2"]}
    expected = hp.evaluate(hp.Codes(outputs[:20], binarize="sign"), outputs[20:], **labels)
    for name, value in expected.metrics.items():
        assert trainer.callback_metrics[name].item() == pytest.approx(value, abs=1e-6)


def test_mlflow_and_wandb_record_the_values(tmp_path, monkeypatch):
    """With an evaluator with batches, as the first block of the page makes."""
    rng = np.random.default_rng(0)
    evaluator = hp.Evaluator(binarize="sign", metrics=["mAP", "mAP@5[all]"])
    evaluator.add_queries(rng.normal(size=(5, 8)), rng.integers(0, 2, 5))
    evaluator.add_database(rng.normal(size=(50, 8)), rng.integers(0, 2, 50))
    expected, namespace = evaluator.evaluate().metrics, {"evaluator": evaluator, "epoch": 3}
    mlflow = pytest.importorskip("mlflow", reason="needs MLflow")
    wandb = pytest.importorskip("wandb", reason="needs wandb")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        exec(BLOCKS["mlflow"], dict(namespace))
    assert mlflow.get_run(run.info.run_id).data.metrics == {
        "mAP": expected["mAP"],
        "mAP_5_all_": expected["mAP@5[all]"],
    }
    with wandb.init(mode="offline", dir=tmp_path, project="codes") as run:
        exec(BLOCKS["wandb"], dict(namespace))
        run.log({}, step=4)  # ends step 3
        assert run.summary["validation/mAP"] == expected["mAP"]

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from protocol import __version__, registry

SETTING = {"dataset": "digits", "feature": "gist", "ground_truth": "class_label", "split": "standard"}
IDENTITY = {"relevance": "class labels", "n_queries": 100, "n_database": 1697, "undefined": "zero"}
NEW = ["relevance", "n_queries", "n_database", "options", "undefined", "ties", "ranking", "convention", "version"]


@pytest.fixture
def experiment(tmp_path):
    """Return a function that writes the tables of an experiment: a row per combination, and the values of its runs."""

    def written(name, *changes, runs=None, items=None, old=False):
        folder, rows, values = tmp_path / name, [], []
        folder.mkdir()
        for change in changes or ({},):
            row = SETTING | {"hasher": "itq", "n_bits": 16, "extension": "none", "extension_bits": 0, "metric": "mAP"}
            row |= {"mean": 0.5, "std": 0.01, "n_runs": 3} | IDENTITY | {"options": "", "convention": "default"}
            row |= {"version": __version__, "ranking": "hamming"} | change
            numbers = row.pop("values", None)
            if numbers is not None:
                row |= {"mean": np.mean(numbers), "std": np.std(numbers, ddof=1), "n_runs": len(numbers)}
                combination = {column: row[column] for column in (*SETTING, "hasher", "n_bits", "extension", "metric")}
                values += [combination | {"run": run, "value": value} for run, value in enumerate(numbers)]
            rows.append({"ties": registry.entry("metric", row["metric"]).ties} | row)
        table = pd.DataFrame(rows)
        (table.drop(columns=NEW) if old else table).to_csv(folder / "summary.csv", index=False)
        if values:
            scores = pd.DataFrame(values)
            scores.to_csv(folder / "metrics.csv", index=False)
            runs_of_file = scores[["feature", "ground_truth", "split", "run"]].drop_duplicates()
            digests = [items[run] if items else f"digest {run}" for run in runs_of_file["run"]]
            runs_of_file.assign(items=digests).to_csv(folder / "runs.csv", index=False)
        return folder / "summary.csv"

    return written


@pytest.fixture
def codes(tmp_path):
    """Return a function that writes the JSON of an evaluation, and its values per query where they are given."""

    def written(file, *, per_query=None, names=True, **changes):
        content = {"name": None, "n_bits": 16, "ranking": "hamming", "convention": "default", "version": __version__}
        content |= IDENTITY
        content |= {field: SETTING[field] if names else None for field in ("dataset", "ground_truth", "split")}
        content |= {"metrics": {"mAP": 0.7}, "ground_truth_sha256": "a" * 64} | changes
        if per_query is not None:
            table = pd.DataFrame(per_query)
            table.assign(ranking=content["ranking"]).to_csv(tmp_path / f"{file}.csv", index_label="query")
            digest = hashlib.sha256((tmp_path / f"{file}.csv").read_bytes()).hexdigest()
            content |= {"n_queries": len(table), "per_query": {"file": f"{file}.csv", "sha256": digest}}
            content["metrics"] |= {metric: float(np.nanmean(values)) for metric, values in per_query.items()}
        undefined = content.pop("undefined")
        if isinstance(undefined, str):
            content["undefined"] = dict.fromkeys(content["metrics"], undefined)
        content.setdefault("ties", {metric: registry.entry("metric", metric).ties for metric in content["metrics"]})
        (tmp_path / file).write_text(json.dumps(content))
        return tmp_path / file

    return written

"""The shipped config files, their jobs, and networks without PyTorch."""

import copy
import sys

import numpy as np
import pytest
import yaml
from encoded import refuses, yaml_of
from project import SMALL, Results
from snakemake.utils import validate

from protocol import configuration, registry
from protocol.checks import ProtocolError
from protocol.configuration import schema
from protocol.shipped import PROJECT, configs

SCHEMA = PROJECT / "workflow" / "schemas" / "config.schema.yaml"
SHIPPED = {name: yaml.safe_load(path.read_text()) for name, path in configs().items()}
USERS = yaml_of("configuration/users.yaml")
NETWORKS = [entry.name for entry in registry.entries("hasher") if entry.extra == "learned"]
SHAPES = {"embeddings": (2_000, 384)}


@pytest.fixture
def users(here):
    """Return a function that writes the files that a config file expects into the working directory."""

    def write(name):
        for user in USERS.get(name, []):
            if user.endswith("/"):
                (here / user / "class").mkdir(parents=True)
            else:
                shape = SHAPES.get(name, (70_000, 64))
                with open(user, "wb") as file:
                    np.save(file, np.zeros(shape if user == "features.npy" else shape[0], dtype=np.float32))

    return write


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_config_files_are_valid_also_for_snakemake_s_own_function(name, users):
    if name in USERS:
        refuses(r"^(dataset_options of '.*'|training_labels): .*: no such f", configuration.load, SHIPPED[name])
    users(name)
    standard = copy.deepcopy(SHIPPED[name])
    validate(standard, str(SCHEMA))
    assert standard == schema.checked(SHIPPED[name])
    assert configuration.load(SHIPPED[name]).name == name


def test_every_dataset_has_a_shipped_config_file():
    assert set(registry.names("dataset")) == {config["dataset"] for config in SHIPPED.values()}


@pytest.mark.parametrize("name", ["arrays", "cifar10_leak", "cifar10_talr", "wiki_cross", "wiki_quantisation"])
def test_snakemake_plans_a_shipped_experiment(name, tmp_path, users):
    """Test with two runs: the time of planning grows with the jobs, and every further run has the same jobs."""
    config = copy.deepcopy(SHIPPED[name])
    users(name)
    for part in (config, *config["features"].values()):
        part |= {"runs": min(part["runs"], 2)} if "runs" in part else {}
    experiment = configuration.load(config)
    targets = ("report", *(target for target in ("leak", "quantisers") if target in experiment.config))
    jobs = Results(tmp_path).planned(config, *targets)
    combinations = experiment.combinations
    fields = ("feature", "sample", "run", "hasher")
    trained = {tuple(row[field] for field in fields) for row in combinations if row["hasher"] in experiment.hashers}
    assert jobs["model"] == len(trained)
    assert jobs["split"] == len({(row["split"], row["run"]) for row in combinations})
    assert {*targets, "metrics", "audit"} <= jobs.keys()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_config_file_is_checked_without_pytorch_but_a_run_is_refused_at_once(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    lsh = {"hashers": ["lsh"], "hasher_options": {name: {"epochs": 5}}}
    configuration.check_installed(configuration.load(SMALL | lsh))
    with pytest.raises(ProtocolError, match=r": epochs must be an integer >= 1, got 0\.$"):
        configuration.load(SMALL | {"hashers": [name], "hasher_options": {name: {"epochs": 0}}})
    experiment = configuration.load(SMALL | {"hashers": ["lsh", name]})
    with pytest.raises(ProtocolError, match=rf"^hasher '{name}': torch is not installed\. .*'\.\[learned\]'$"):
        configuration.check_installed(experiment)

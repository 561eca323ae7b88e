"""`protocol list`: the names of a kind, and the record and docstring of one name."""

import pytest

from protocol import registry
from protocol.cli import main


def listed(capsys, *arguments):
    assert main(["list", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("kind", registry.REGISTRIES)
def test_every_plug_in_is_described_with_its_record(kind, capsys):
    for entry in registry.entries(kind):
        text = listed(capsys, f"{kind}s", entry.name)
        assert text.startswith(f"{kind.replace('_', ' ')} {entry.name} ")
        for part in (entry.summary, entry.source, getattr(entry, "deviations", "")):
            assert " ".join(part.split()) in text


def test_fields_and_docstrings(capsys):
    text = listed(capsys, "hashers", "itq")
    assert "n_iter : int, default 50 Number of updates of R, at least 1." in text
    assert " bits within features: yes random: yes" in text
    assert "query: drawn, per class 100 train: drawn, per class 500" in listed(capsys, "splits", "cifar10_s1")
    assert "reported as map: mAP, mAP@1000[retrieved]" in listed(capsys, "conventions", "talr")
    assert "fix: Remove the queries from the database." in listed(capsys, "findings", "query-in-database")
    assert " range: 0, 1 better: higher " in listed(capsys, "metrics", "mAP@100[all]")
    assert main(["list", "metrics", "mAP@100[none]"]) == 2


def test_the_path_of_the_pipeline_is_the_whole_output(capsys, root):
    assert main(["list", "snakefile"]) == 0
    assert capsys.readouterr().out == f"{root / 'workflow' / 'Snakefile'}\n"


def test_the_list_of_metrics_names_undefined_values(capsys):
    text = listed(capsys, "metrics")
    assert "[Musgrave, Belongie and Lim 2020, A Metric Learning Reality Check, MAP@R] undefined values: A query" in text
    assert text.count(" undefined values: ") == len(registry.names("metric"))

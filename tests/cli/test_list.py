"""`protocol list KIND NAME`: one plug-in, with its options."""

import pytest

from protocol import registry
from protocol.cli import main
from protocol.configuration.options import options


def listed(capsys, *arguments):
    assert main(["list", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("kind", registry.PACKAGES)
def test_every_plug_in_is_described_with_its_options(kind, capsys):
    for entry in registry.entries(kind):
        if any(mark in entry.name for mark in ("@K", "@rR", "F_beta")):
            continue
        text = listed(capsys, f"{kind}s", entry.name)
        assert text.startswith(f"{kind.replace('_', ' ')} {entry.name} ")
        for part in (entry.summary, entry.source, getattr(entry, "deviations", "")):
            assert " ".join(part.split()) in text
        for name, option in {} if kind == "metric" else options(kind, entry.name).items():
            assert f" {name}: " in text
            assert option.description in text


def test_a_hasher(capsys):
    assert main(["list", "hashers", "itq"]) == 0
    out = capsys.readouterr().out
    assert "  bits within features: yes\n" in out
    assert "    n_iter: int, default 50\n      Number of updates of R, at least 1.\n" in out


def test_a_metric_with_its_number(capsys):
    assert "better: higher" in listed(capsys, "metrics", "mAP@100[all]")


def test_a_convention_and_a_finding(capsys):
    assert listed(capsys, "conventions", "talr").startswith("convention talr summary: ")
    assert listed(capsys, "findings", "size-mismatch").startswith("finding size-mismatch summary: ")


@pytest.mark.parametrize("arguments", [("hashers", "ITQ"), ("conventions", "Talr"), ("datasets", "cifar")])
def test_an_unknown_name_is_refused_in_one_line(arguments, capsys):
    assert main(["list", *arguments]) == 2
    err = capsys.readouterr().err
    assert "did you mean" in err.lower()
    assert err.count("\n") == 1

"""`protocol paper-figures`."""

import shutil
from pathlib import Path

import pytest

from protocol.cli import main
from protocol.papers.figures import DRAWINGS, FigureData
from protocol.provenance import storage

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


@pytest.fixture
def folder(tmp_path):
    """Return a folder of results: an experiment with curves and a model, and stored tables."""
    experiment = tmp_path / "results" / "mine"
    examples = experiment / "gist" / "examples" / "standard"
    examples.mkdir(parents=True)
    summary = "dataset,feature,ground_truth,split,hasher,n_bits,extension,extension_bits,metric,mean,std,n_runs\n"
    cell = "cifar10,gist,class_label,standard,{},32,none,0,mAP,0.5,,1\n"
    (experiment / "summary.csv").write_text(summary + "".join(map(cell.format, ("itq", "sh", "talr_ap", "talr_ap_5"))))
    header = "ground_truth,hasher,n_bits,extension,extension_bits,metric,radius,value,n_runs\n"
    cell = "class_label,{},32,none,0,{}_micro,{},0.5,1\n"
    cells = [(hasher, side, r) for hasher in ("itq", "sh") for side in ("precision", "recall") for r in (0, 1)]
    (examples / "radii.csv").write_text(header + "".join(cell.format(*values) for values in cells))
    for hasher, alpha in (("talr_ap", 1.0), ("talr_ap_5", 5.0)):
        path = experiment / "gist" / "thesis" / "run0" / hasher / "models.h5"
        path.parent.mkdir(parents=True)
        parameters = {"alpha": alpha, "growth": 1.0}
        storage.write(path, {}, storage.provenance(f"hasher {hasher}", parameters=parameters, inputs={}))
    for name in ("talr/alpha.csv", "learned/summary.csv"):
        (tmp_path / "results" / "reference" / name).parent.mkdir(parents=True)
        shutil.copy(REFERENCE / name, tmp_path / "results" / "reference" / name)
    return tmp_path


def test_it_draws_the_available_figures_and_names_the_missing_ones(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["paper-figures", "mlgap_table_1", "mlgap_figure_8", "thesis_figure_3_8", "--output", "paper"]) == 0
    out = capsys.readouterr().out
    names = {path.stem for path in Path("paper").iterdir()}
    figure = "thesis-figure-3-8-mine-cifar10-gist-class-label-standard-32"
    assert names == {line.strip() for line in out.splitlines() if line.startswith("  ") and "missing" not in line}
    assert names == {"mlgap-table-1-r0", "mlgap-table-1-r1", "mlgap-table-1-r2", figure}
    assert {path.suffix for path in Path("paper").glob(f"{figure}.*")} == {".svg", ".pdf", ".png", ".csv", ".tex"}
    assert "  missing: codes of 12 bits of deep_supervised and buffer_zone on cifar10" in out
    assert (
        "| eq. 16 | reference/learned: gist, cifar10_s2 | 0.2123 | 0.5661 |"
        in Path("paper/mlgap-table-1-r2.md").read_text()
    )


def test_the_rows_of_a_folder(folder):
    found = FigureData.in_folder(folder / "results")
    assert set(found.summary["experiment"]) == {"mine", "reference/learned"}
    names = [figure.name for figure in DRAWINGS["talr_alpha"](found).figures]
    assert names == [
        "talr-alpha-mine-cifar10-gist-class-label-standard-32-mAP",
        "talr-alpha-reference-talr-mAP",
        "talr-alpha-reference-talr-nDCG",
    ]
    assert len(DRAWINGS["ramap_figure_4"](found).figures) == 4  # two features, two code lengths
    assert DRAWINGS["ramap_figure_4"](found).missing == ""


def test_some_figures_of_one_experiment(folder, capsys):
    arguments = ["mlgap_table_1", "--results", str(folder / "results" / "mine"), "--output", str(folder / "paper")]
    assert main(["paper-figures", *arguments]) == 0
    assert capsys.readouterr().out.startswith("mlgap_table_1\n  missing: deep_supervised on cifar10 at 12 bits")

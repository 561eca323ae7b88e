"""The stored CIFAR-10 tables and their page are consistent."""

import cifar10_tables as tables
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.fft import dctn

from protocol.datasets import cifar10

# The luminance table of the JPEG standard (ITU-T T.81, table K.1), whose half is quality 75.
LUMINANCE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)


def test_the_listed_images_are_decoded_jpeg(shared):
    """Decoded JPEG shows: the cosine coefficients of its 8 x 8 blocks are near multiples of the quantisation steps."""
    images = cifar10.load({cifar10.ARCHIVE: shared / "data" / "cifar10" / cifar10.ARCHIVE}).images[50_000:]
    luma = images @ np.array([0.299, 0.587, 0.114]) - 128
    blocks = luma.reshape(-1, 4, 8, 4, 8).transpose(0, 1, 3, 2, 4)
    steps = dctn(blocks, axes=(3, 4), norm="ortho") / ((LUMINANCE + 1) // 2)
    counted = np.abs(steps) > 0.5
    off = (np.abs(steps - np.rint(steps)) * counted).sum(axis=(1, 2, 3, 4)) / counted.sum(axis=(1, 2, 3, 4))
    assert np.flatnonzero(off < 0.12).tolist() == tables.REBUILT
    assert np.sort(off)[len(tables.REBUILT)] > 0.18


def test_the_matched_runs_are_those_of_their_configuration():
    config = yaml.safe_load((tables.pages.ROOT / "workflow" / "config" / "cifar10_matched.yaml").read_text())
    full, runs = tables.pages.read("cifar10", "runs", "matched")
    assert len(full) == 2 * 2 * 10 * 8 * 6
    assert set(full["hasher"]) == set(tables.HASHERS)
    for column, key in {"feature": "features", "split": "splits", "hasher": "hashers", "metric": "metrics"}.items():
        assert set(runs[column]) == set(config[key])
    for feature, keys in config["features"].items():
        own = runs[runs["feature"] == feature]
        assert len(own) == keys.get("runs", config["runs"]) * 2 * 3 * 6 * 2
    assert set(tables.VARIANTS) == set(config["features"])
    assert set(tables.DATABASES) == set(config["splits"])
    published = pd.read_csv(tables.PUBLISHED)
    assert set(published["n_bits"]) == set(config["n_bits"])
    assert set(published["hasher"]) == set(config["hashers"])


def test_statements_of_the_page_about_published_figures_agree_with_the_runs():
    """One figure by hand, then the statements."""
    runs = pd.read_csv(tables.FOLDER / "matched.csv")
    table = tables.compared(pd.read_csv(tables.FOLDER / "summary.csv"), runs)
    own = runs.query(
        "feature == 'gist_unit' and split == 'cifar10_5k' and hasher == 'itq' and n_bits == 32 and metric == 'mAP'"
    )["value"]
    assert len(own) == 10
    at = table.query("hasher == 'itq' and n_bits == 32").index[0]
    expected = (own.mean() - 0.1632) / own.std(ddof=1)
    assert tables.off(table, "gist_unit/cifar10_5k")[at] == pytest.approx(expected)
    default = (table["default"] - table["value"]).dropna()
    assert (len(default), (default > 0).all(), round(default.mean(), 4)) == (15, True, 0.0064)
    page = (tables.FOLDER / "README.md").read_text()
    assert "have the same sign; their mean is +0.0064." in page
    within = {
        feature: (tables.off(table, f"{feature}/cifar10_5k").abs() <= 1).sum()
        for feature in (tables.RECORDED, tables.UNIT)
    }
    assert within[tables.RECORDED] < 18 / 3 < 18 * 2 / 3 < within[tables.UNIT]  # what the page concludes
    assert tables.earlier_run()[24] == 0.1264


def test_the_page_states_the_other_differences_of_the_improved_database():
    page = (tables.FOLDER / "README.md").read_text()
    assert "`standard` ranks 59,000 images" in page
    assert "`improved` ranks the other 46,000" in page
    assert (tables.FOLDER / "../leak/leak.md").resolve().exists()
    assert "](../leak/leak.md)" in page

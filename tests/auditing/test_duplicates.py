"""The finder of near-duplicates: each step against a slow reference, recall on known distortions, inputs and errors."""

import csv
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from browser import opened
from distortions import DISTORTIONS, distorted
from encoded import refuses, yaml_of
from scipy import ndimage

import protocol
from protocol.auditing import duplicates
from protocol.auditing.duplicates import contact_sheet, find_duplicates, proposed
from protocol.auditing.small_images import SCALES, SHIFTS, SIZE, best_correlation, local_contrast, small_images
from protocol.cli import main
from protocol.scores.tables import safe
from protocol.truth import nearest

with open(Path(__file__).with_name("measured.toml"), "rb") as _stream:
    MEASURED = tomllib.load(_stream)


def test_the_complete_help_and_its_page_show_the_measured_accuracy(capsys, root):
    with pytest.raises(SystemExit):
        main(["find-duplicates", "--help-all"])
    shown = capsys.readouterr().out
    text, page = " ".join(shown.split()), (root / "docs" / "how-to" / "find-near-duplicates.md").read_text()
    for proposals, *counts in MEASURED["cifar10"]:
        assert " ".join(map(str, (f"{proposals:,}", *counts))) in text
        assert f"| {' | '.join(map(str, (f'{proposals:,}', *counts)))} |" in page
    for name, share in MEASURED["distortions"].items():
        assert f"{name}: {share:.1%}" in text


def pictures(n, seed=0):
    """Return smooth random images."""
    noise = np.random.default_rng(seed).normal(size=(n, 32, 32, 3))
    smooth = ndimage.gaussian_filter(noise, (0, 2, 2, 0))
    return np.clip(128 + 400 * smooth, 0, 255).astype(np.uint8)


@pytest.mark.parametrize(("k", "same"), [(1, False), (5, True), (1000, False)])
def test_best_matches_equal_those_of_a_full_sort_for_any_number_of_threads(k, same, monkeypatch):
    monkeypatch.setattr(duplicates, "_PRODUCTS", 1400)
    rng = np.random.default_rng(k)
    database = rng.integers(-3, 4, (200, 6)).astype(np.float32)  # with ties
    query = database if same else rng.integers(-3, 4, (40, 6)).astype(np.float32)
    values = query @ database.T
    if same:
        np.fill_diagonal(values, -np.inf)
    rows, products = duplicates.best_matches(query, database, k, same=same)
    np.testing.assert_array_equal(products, -np.sort(-values, axis=1)[:, : min(k, 200 - same)])
    np.testing.assert_array_equal(np.take_along_axis(values, rows, axis=1), products)
    assert all(len(set(row)) == len(row) for row in rows.tolist())
    np.testing.assert_equal(duplicates.best_matches(query, database, k, same=same, threads=2), (rows, products))


def test_local_contrast_matches_the_filter_of_scipy():
    small = small_images(pictures(3), n_channels=3)
    planes = small.astype(np.float64)
    detail = planes - ndimage.gaussian_filter(planes, (0, 0, 2, 2), mode="nearest")
    energy = ndimage.gaussian_filter((detail**2).mean(axis=1, keepdims=True), (0, 0, 2, 2), mode="nearest")
    np.testing.assert_allclose(local_contrast(small), detail / (np.sqrt(energy) + 4), atol=1e-4)


def slow_correlation(image, other):
    """Return the largest correlation over shifts and scales, pixel by pixel."""
    centre, found = (SIZE - 1) / 2, -1.0
    for scale in SCALES:
        for down in SHIFTS:
            for right in SHIFTS:
                y, x = ((np.arange(SIZE) - centre) * scale + centre + move for move in (down, right))
                inside = np.ix_((y >= 0) & (y <= SIZE - 1), (x >= 0) & (x <= SIZE - 1))
                places = np.meshgrid(y, x, indexing="ij")
                own = np.stack([ndimage.map_coordinates(plane, places, order=1, mode="nearest") for plane in image])
                a, b = (planes[:, inside[0], inside[1]].ravel() for planes in (own, other))
                found = max(found, (a @ b + 3) / np.sqrt((a @ a + 3) * (b @ b + 3)))
    return found


def test_correlations_match_a_slow_loop_and_equal_images_have_1_even_if_blank():
    images = pictures(3)
    images = np.concatenate([images, distorted(images[:1], "shifted by 1/16"), np.full_like(images[:1], 9)])
    contrast = local_contrast(small_images(images, n_channels=3))
    for row in (0, 4):
        expected = [slow_correlation(contrast[row].astype(np.float64), other) for other in contrast]
        correlation = best_correlation(contrast[row], contrast)
        np.testing.assert_allclose(correlation, expected, atol=1e-5)
        assert correlation[row] == pytest.approx(1, abs=1e-5)
        assert correlation[4 - row] < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_pairs_within_one_set_match_a_loop_in_any_order(seed):
    rng = np.random.default_rng(seed)
    n = 40
    scores = np.triu(np.round(rng.uniform(size=(n, n)), 4), 1)
    scores[rng.uniform(size=(n, n)) < 0.6] = 0
    scores += scores.T
    expected = set()
    for item in range(n):
        partners = sorted(np.flatnonzero(scores[item]).tolist(), key=lambda other: (-scores[item, other], other))
        near = [other for other in partners[:5] if scores[item, other] >= scores[item, partners[0]] - 0.05]
        expected |= {frozenset((item, other)) for other in near}
    for order in (np.arange(n), rng.permutation(n)):
        low, high = np.nonzero(scores[np.ix_(order, order)])  # each pair in both orders
        pairs = pd.DataFrame({"query": low, "database": high, "score": scores[order[low], order[high]]})
        pairs = proposed(pairs, n, same=True)
        named = list(map(frozenset, order[np.stack([pairs["query"], pairs["database"]], axis=1)].tolist()))
        assert len(named) == len(set(named))
        assert set(named) == expected
        assert len(np.unique(pairs["query"])) == pairs["rank"].max()


def recalls(images, rows, least=0.0):
    """Return, by distortion, the share of distorted copies whose best partner among all images is their original."""
    copies = np.concatenate([distorted(images[rows], name) for name in DISTORTIONS])
    found = find_duplicates(copies, images, most=len(copies), least=least, threads=2)
    first = found.pairs["choice"] == 1
    query = found.pairs["query"][first]
    right = query[found.pairs["database"][first] == np.tile(rows, len(DISTORTIONS))[query]]
    counts = np.bincount(right // len(rows), minlength=len(DISTORTIONS))
    return dict(zip(DISTORTIONS, (counts / len(rows)).tolist(), strict=True))


def test_judged_pairs_and_distorted_copies_of_cifar10_are_found_among_others(shared):
    archive = shared / "data/cifar10/cifar-10-binary.tar.gz"
    data = protocol.get("dataset", "cifar10")({archive.name: archive})
    train, test = data.images[:50000], data.images[50000:]
    with open(shared / "data/near_duplicates/cifar10_test_train.csv", newline="") as file:
        listed = [(int(row["TestID"]), int(row["TrainID"]), row["Judgment"] in "01") for row in csv.DictReader(file)]
    queries, partners = np.array([pair[:2] for pair in listed if pair[2]]).T
    distinct, place = np.unique(partners, return_inverse=True)
    others = np.setdiff1d(np.arange(0, 50000, 9), [item for _, item, _ in listed])[: 5000 - len(distinct)]
    database = train[np.concatenate([distinct, others])]
    found = find_duplicates(test[queries], database, threads=2)
    first = found.pairs["choice"] == 1
    assert (found.pairs["database"][first] == place[found.pairs["query"][first]]).mean() >= 0.9
    shares = recalls(database, np.arange(len(distinct), len(database), 130), MEASURED["least_score"])
    assert all(shares[name] >= MEASURED["distortions"][name] - 0.08 for name in shares), shares


def test_pairs_of_vectors_are_those_of_the_exact_search_at_any_magnitude():
    X = np.random.default_rng(0).normal(size=(500, 6))
    X *= np.logspace(-100, 100, 500)[:, None]
    found = find_duplicates(X[:250], X[250:], vectors=True, least=0.0, most=500)
    best = nearest(X[:250], X[250:], 1, distance="cosine")
    first = found.pairs["choice"] == 1
    query = found.pairs["query"][first]
    assert sorted(query.tolist()) == np.flatnonzero(best.distances <= 1).tolist()
    np.testing.assert_array_equal(found.pairs["database"][first], best.indices[query])
    np.testing.assert_array_equal(found.pairs["score"][first], 1 - best.distances[query])
    assert str(found).endswith(f"\nand {len(found) - 10} more; --csv or to_csv writes all")


@pytest.fixture
def sets():
    """Return 40 images, and 4 queries: two distorted copies, a mirrored one, and one without a copy."""
    database = pictures(40)
    compressed, shifted = distorted(database[3:4], "JPEG of quality 50"), distorted(database[5:6], "shifted by 1/16")
    return np.concatenate([compressed, pictures(1, seed=9), shifted, database[7:8, :, ::-1]]), database


EXPECTED = {("0", "3"), ("2", "5"), ("3", "7")}


def test_judged_pairs_match_those_of_the_audit(sets, here, capsys):
    """Go from images to the queries that an evaluation excludes, with the ids of the user's lists."""
    for part, images in zip(("query", "database"), sets, strict=True):
        np.save(f"{part}.npy", images)
        (here / f"{part}.txt").write_text("".join(f"={part}/{row}.png\n" for row in range(len(images))))
    images, lists = (["--query", f"query.{kind}", "--database", f"database.{kind}"] for kind in ("npy", "txt"))
    ids = ["--query-ids", "query.txt", "--database-ids", "database.txt"]
    assert main(["find-duplicates", *images, *ids, "--csv", "pairs.csv", "--most", "4"]) == 0
    with open("pairs.csv", newline="") as file:
        pairs = [(row["query"], row["database"]) for row in csv.DictReader(file)]
    # The apostrophe makes a spreadsheet show the name instead of evaluating it.
    right = [(f"'=query/{query}.png", f"'=database/{item}.png") for query, item in sorted(EXPECTED)]
    assert set(right) <= set(pairs)
    judged = [f"{query},{item},{1 if (query, item) in right else 3}\n" for query, item in pairs]
    (here / "judged.csv").write_text("".join(["query,database,judgement\n", *judged]))
    status = main(["audit", *lists, "--known-pairs", "judged.csv", "--write-affected", "affected.txt"])
    assert status == 3  # equal names
    assert "known-near-duplicate: 3\n" in capsys.readouterr().out
    assert (here / "affected.txt").read_text() == "0\n2\n3\n"


def first_pairs(found, n=3):
    return {(row["query"], row["database"]) for row in found.records() if row["rank"] <= n and row["choice"] == 1}


class TestInputs:
    def test_arrays_files_and_folders_give_the_same_result(self, sets, tmp_path):
        query, database = sets
        np.save(tmp_path / "q.npy", query)
        np.savez(tmp_path / "d.npz", x=np.zeros(3), images=database)
        (tmp_path / "folder").mkdir()
        for number, image in enumerate(database):
            assert cv2.imwrite(str(tmp_path / f"folder/{number:02d}.png"), image[..., ::-1])
        expected = find_duplicates(query, database)
        assert first_pairs(expected) == EXPECTED
        assert find_duplicates(tmp_path / "q.npy", f"{tmp_path}/d.npz:images").records() == expected.records()
        from_folder = find_duplicates(query, tmp_path / "folder")
        named = [record | {"database": f"{int(record['database']):02d}.png"} for record in expected.records()]
        assert from_folder.records() == named


X = np.eye(4)
INPUTS = {"images": pictures(4), "image": pictures(1), "no images": pictures(1)[:0], "zeros": np.zeros((2, 8, 8))}
INPUTS |= {"X": X, "narrow": X[:, :3], "missing": X * np.nan, "zero": X * 0, "vector": X[0], "strings": X.astype(str)}


@pytest.mark.parametrize("row", yaml_of("auditing/refused.yaml"), ids=str)
def test_incomparable_inputs_are_refused(row):
    row = dict(row)
    message, inputs = row.pop("message"), [INPUTS[row.pop(side)] for side in ("query", "database") if side in row]
    refuses(f"^{message}$", find_duplicates, *inputs, **row)


def test_a_sheet_shows_images_only(capsys):
    assert main(["find-duplicates", "--query", "d.npy", "--vectors", "--sheet", "s.html"]) == 2
    assert capsys.readouterr().err.endswith("Add a column judgement to the file of --csv instead.\n")


class TestSheet:
    def test_pairs_are_judged_with_the_keyboard_and_saved(self, sets, tmp_path, browser):
        query, database = sets
        for number, image in enumerate(database):
            name = '=1+1 "b", <i>.png' if number == 3 else f"{number:02d}.png"
            assert cv2.imwrite(str(tmp_path / name), image[..., ::-1])
        found = find_duplicates(query, tmp_path, most=3)
        contact_sheet(tmp_path / "sheet.html", found, query, tmp_path)
        with opened(browser, tmp_path / "sheet.html") as (page, wrong):
            cards = page.locator("li")
            assert cards.count() == len(found.pairs["rank"])
            shown = page.evaluate("[...document.images].map((image) => [image.complete, image.naturalWidth])")
            assert shown == [[True, 32], [True, 128]] * len(found.pairs["rank"])
            labels = [facts.split(" ")[0] for facts in page.locator(".facts").all_inner_texts()]
            pairs = zip(found.pairs["rank"].tolist(), found.pairs["choice"].tolist(), strict=True)
            assert labels == [f"{rank}{f'.{choice}' if choice > 1 else ''}" for rank, choice in pairs]
            assert "1" in labels
            page.keyboard.press("0")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("3")
            assert page.locator("output").inner_text() == f"2 of {len(found.records())} pairs judged"
            with page.expect_download() as download:
                page.get_by_role("button", name="Save as CSV").click()
            with open(download.value.path(), newline="") as file:
                rows = list(csv.DictReader(file))
            assert wrong == []
        expected = found.records()
        assert [list(row.values()) for row in rows] == [
            [safe(expected[i]["query"]), safe(expected[i]["database"]), f"{1 - expected[i]['score']:.6f}", judgement]
            for i, judgement in ((0, "0"), (2, "3"))
        ]
        assert list(rows[0]) == ["query", "database", "distance", "judgement"]
        assert '=1+1 "b", <i>.png' in [row["database"] for row in expected]

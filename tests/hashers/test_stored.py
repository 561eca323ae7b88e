"""Reuse of the models and codes of an earlier run."""

import os

import numpy as np
import pytest
from encoded import refuses

from protocol import registry
from protocol.codes import pack
from protocol.hashers import TrainingSet, train_and_encode
from protocol.hashers.repeatability import check_few, check_hasher
from protocol.provenance import storage

X = np.random.default_rng(0).normal(size=(60, 12)).astype(np.float32)
ITQ = registry.get("hasher", "itq")
IMAGE = np.arange(60)


UNSEEDED = {
    "learned": {"W_": ("float64", "d", "n_bits")},
    "_fit": lambda self, training, _: vars(self).update(W_=np.random.default_rng().normal(size=(12, 4))) or {},
    "_encode": lambda self, X: X @ self.W_ > 0,
}
OWN = {"__module__": "protocol.plugins.own"}


def flipped(self, X):
    """Return the bits of ITQ, a random one of them inverted."""
    bits = ITQ._encode(self, X)
    bits.flat[np.random.default_rng().integers(bits.size)] ^= True
    return bits


def made_of(*lengths, **changed):
    same = {"hasher": "itq", "code": "c0de", "options": {"n_iter": 3}, "inputs": {"features": "f"}}
    return {n_bits: same | {"seed": 7 + n_bits} | changed for n_bits in lengths}


def run(folder, expected, *, killed=None, hasher=ITQ):
    """Train like the rule `model`; return the lengths at which it trained."""
    paths, lengths = (folder / "models.h5", folder / "codes.h5", folder / "times.csv"), []

    class Recorded(hasher):
        __module__ = hasher.__module__

        def fit(self, X, y=None):
            if self.n_bits == killed:
                raise KeyboardInterrupt
            lengths.append(self.n_bits)
            return super().fit(X, y)

    folder.mkdir(exist_ok=True)
    for path in paths:
        path.unlink(missing_ok=True)  # as Snakemake does before a job runs again
    blocks = {"query": [X[:5]], "items": [X[:30], X[30:]]}
    images = {"query": IMAGE[:5], "items": IMAGE}
    train_and_encode(paths, Recorded, expected, TrainingSet(X), blocks, images, options={}, inputs={})
    return lengths


def test_a_removed_length_is_not_in_the_files(tmp_path):
    run(tmp_path, made_of(4, 8))
    assert run(tmp_path, made_of(8)) == []
    assert sorted(storage.grouped(storage.read(tmp_path / "codes.h5"))) == ["8", "image", "query_image"]


@pytest.mark.parametrize(
    "changed",
    [{"code": "other"}, {"seed": 1}, {"options": {"n_iter": 4}}, {"inputs": {"features": "g"}}],
    ids=lambda changed: next(iter(changed)),
)
def test_anything_else_that_changed_trains_again(tmp_path, changed):
    run(tmp_path, made_of(4, 8))
    assert run(tmp_path, made_of(4, 8, **changed)) == [4, 8]


@pytest.mark.parametrize("same", [True, False])
def test_a_job_that_is_killed_continues_with_the_length_that_it_did_not_finish(tmp_path, same):
    killed, fresh, again = tmp_path / "killed", tmp_path / "fresh", made_of(4, 8, **{} if same else {"code": "new"})
    with pytest.raises(KeyboardInterrupt):
        run(killed, made_of(4, 8), killed=8)
    assert [path.name for path in killed.iterdir()] == ["models.h5.4"]
    assert run(killed, again) == ([8] if same else [4, 8])
    run(fresh, again)
    assert sorted(path.name for path in killed.iterdir()) == sorted(path.name for path in fresh.iterdir())
    assert (killed / "models.h5").read_bytes() == (fresh / "models.h5").read_bytes()


@pytest.mark.parametrize(
    ("message", "method"),
    [
        ("_fit: np.random was used", {"_fit": lambda self, training, rng: ITQ._fit(self, training, np.random)}),
        ("_fit: two fits with one seed differ in W_", UNSEEDED | OWN),
        ("transform: .* of 60 rows change", {"_encode": lambda self, X: ITQ._encode(self, X - X.mean(axis=0))}),
        ("transform: .* if a row ten times as large", {"_encode": lambda self, X: ITQ._encode(self, X / np.ptp(X))}),
        ("transform: .* if each is encoded alone", {"_encode": lambda self, X: ITQ._encode(self, X * min(len(X), 3))}),
        ("transform: the codes change when rows are encoded again. Draw random", {"_encode": flipped} | OWN),
    ],
)
def test_codes_that_the_seed_and_the_rows_do_not_determine_are_refused(tmp_path, message, method):
    refuses(f"^Recorded[.]{message}", run, tmp_path, made_of(4), hasher=type("Wrong", (ITQ,), method))
    run(tmp_path, made_of(4), hasher=type("Shipped", (ITQ,), UNSEEDED))  # a second fit is for the user's own


def test_a_record_that_denies_or_claims_an_effect_of_the_seed_is_noticed(caplog):
    pcah, itq = (registry.get("hasher", name) for name in ("pcah", "itq"))
    rotate = {"_rotated": lambda self, W, training, rng: W[:, rng.permutation(W.shape[1])]}
    message = "^Draws[.]_fit: with another seed, projection_ change[.] Remove random=False"
    refuses(message, check_hasher, type("Draws", (pcah,), rotate)(n_bits=12), X)
    assert caplog.messages == []
    check_hasher(type("Fixed", (itq,), {"_rotated": pcah._rotated})(n_bits=4), X)
    assert caplog.messages == ["Fixed: another seed gives the same model. If this is always so, declare random=False"]


def test_a_hasher_for_which_a_few_rows_are_not_enough_is_not_checked_with_them(caplog):
    caplog.set_level("INFO")
    check_few(registry.get("hasher", "sph")(n_bits=4), TrainingSet(X[:2]))
    noted = "not checked whether fits repeat, because one with 2 rows failed: X: SpH needs at least "
    assert caplog.messages[0].startswith(noted)


def test_codes_are_those_of_the_models(tmp_path):
    run(tmp_path, made_of(4, 8))
    models, codes = (storage.grouped(storage.read(tmp_path / name)) for name in ("models.h5", "codes.h5"))
    fits = storage.read_provenance(tmp_path / "models.h5")["fits"]
    for n_bits, arrays in models.items():
        model = type("Recorded", (ITQ,), {}).from_arrays(arrays)
        assert fits[n_bits]["made_of"]["seed"] == model.seed == 7 + model.n_bits
        for part, rows in (("query", X[:5]), ("items", X)):
            np.testing.assert_array_equal(codes[n_bits][part], pack(model.transform(rows)))


@pytest.mark.parametrize("damage", ["cut", "missing", "altered", "killed between its two files"])
def test_nothing_is_reused_from_a_damaged_earlier_file(tmp_path, damage, caplog):
    path, seed = tmp_path / "codes.h5.earlier", 99
    run(tmp_path, made_of(4))
    older = path.read_bytes()
    run(tmp_path, made_of(4, seed=seed))
    path.unlink()  # the second name of a file that must not change
    if damage == "altered":
        storage.write(path, {"image": IMAGE}, storage.provenance("else", parameters={}, inputs={}))
    elif damage != "missing":
        path.write_bytes(older if damage.startswith("killed") else older[: len(older) // 2])
    with caplog.at_level("INFO"):
        assert run(tmp_path, made_of(4, seed=seed)) == [4]
    assert ("can be reused" in caplog.text) == (damage in ("cut", "altered"))


def test_the_second_name_takes_no_space_unless_links_are_refused(tmp_path, monkeypatch):
    run(tmp_path, made_of(4))
    assert os.stat(tmp_path / "models.h5").st_nlink == 2
    names = [f"{file}{end}" for file in ("codes.h5", "models.h5", "times.csv") for end in ("", ".earlier")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names

    def refused(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refused)
    run(tmp_path, made_of(4, seed=1))
    assert os.stat(tmp_path / "models.h5").st_nlink == 1
    assert run(tmp_path, made_of(4, seed=1)) == []

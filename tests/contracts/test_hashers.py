"""The guarantees of every registered hasher, and for each of them a wrong hasher that must be rejected.

A check takes `make(n_bits=8, seed=0)`, which returns an unfitted hasher. If a check gives no supervision, `taught`
provides it, so that every check also applies to supervised hashers.
"""

import functools
import inspect
import json
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers import Hasher, TrainingSet
from protocol.inputs.validation import matrix
from protocol.provenance import storage


def mixture(n, d):
    rng = np.random.default_rng(7)
    X = 3 * rng.normal(size=(6, d))[rng.integers(0, 6, n)] + rng.normal(size=(n, d)) * np.linspace(2, 0.5, d)
    return X.astype(np.float32)


N, D = 160, 40
X = mixture(N, D)


@functools.cache
def fitted(make, n_bits=8, seed=0):
    """Return a model of X that all checks of a hasher share; none of them changes it."""
    return make(n_bits=n_bits, seed=seed).fit(X.copy())


def supervision_of(X, kind):
    """Return made-up supervision: eight classes by the first feature, neighbours in that order, or X mirrored."""
    rows = np.asarray(X)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu" or kind is None:
        return None
    rank = np.lexsort((np.arange(len(rows)), rows[:, 0])).argsort()
    apart = np.abs(rank[:, None] - rank)
    levels = (apart < len(rows) / 8).astype(int) + (apart < len(rows) / 40)
    return {"labels": rank * 8 // len(rows), "affinities": csr_array(levels), "pairs": rows[:, ::-1]}[kind]


BRIEF = {"n_steps": 5, "epochs": 3, "batch_size": 64, "n_anchors": 150, "n_trees": 5}
"""Small values of the options that determine the training time; they suffice for the checks."""


@functools.cache
def taught(hasher):
    """Return a class that trains briefly, and on `supervision_of` if fit gets none; unsupervised classes unchanged."""
    if hasher.supervision is None:
        return hasher

    def fit(self, X, y=None):
        if y is None and not isinstance(X, TrainingSet):
            y = supervision_of(X, self.supervision)
        return hasher.fit(self, X, y)

    brief = {name: BRIEF[name] for name in BRIEF.keys() & inspect.signature(hasher).parameters}
    return type(hasher.__name__, (hasher,), {"fit": fit, "__annotations__": dict.fromkeys(brief, int), **brief})


CAUGHT = (AssertionError, pytest.fail.Exception, ArithmeticError, RuntimeWarning)


def check_output(make):
    for n_bits in (1, 8, 32):
        codes = fitted(make, n_bits).transform(X[:50])
        assert isinstance(codes, np.ndarray)
        assert codes.dtype == bool
        assert codes.shape == (50, n_bits)


def check_bits_vary(make):
    codes = fitted(make, 16).transform(X)
    assert len(np.unique(codes, axis=0)) > 5
    assert np.logical_and(codes.any(axis=0), ~codes.all(axis=0)).sum() >= 8


def check_deterministic(make):
    """A second fit of one object, after a fit on other rows, gives the same model and codes."""
    first, second = fitted(make), make(n_bits=8).fit(X[:100])
    np.random.random()  # noqa: NPY002 - it would change a hasher that drew from the global generator
    second.fit(X.copy())
    assert_same_model(first, second)
    np.testing.assert_array_equal(first.transform(X), second.transform(X), strict=True)


def check_seed(make, random):
    same = (fitted(make).transform(X) == fitted(make, seed=1).transform(X)).all()
    assert same != random


def check_does_not_modify_inputs(make):
    train, query = X.copy(), X[:20].copy()
    hasher = make(n_bits=8)
    params = hasher.get_params()
    hasher.fit(train).transform(query)
    np.testing.assert_array_equal(train, X)
    np.testing.assert_array_equal(query, X[:20])
    assert hasher.get_params() == params


def check_refuses_non_finite(make):
    for bad in (np.nan, np.inf, -np.inf):
        spoilt = X.copy()
        spoilt[3, 2] = bad
        for call in (make().fit, fitted(make).transform):
            with pytest.raises(ProtocolError, match="first in row 3"):
                call(spoilt)


def check_refuses_other_inputs_than_matrices(make):
    for bad in (X[0], X[:0], X[None], [["a"]]):
        for call in (make().fit, fitted(make).transform):
            with pytest.raises(ProtocolError, match="X: expected"):
                call(bad)
    with pytest.raises(ProtocolError, match=f"expected {D} features as in fit, got {D - 1}"):
        fitted(make).transform(X[:, 1:])


def check_refuses_transform_before_fit(make):
    with pytest.raises(ProtocolError, match="unfitted"):
        make().transform(X)


def check_refuses_n_bits_below_one(make):
    for bad in (0, -8, 7.5, "8"):
        with pytest.raises(ProtocolError, match="n_bits: expected an integer >= 1"):
            make(n_bits=bad).fit(X)


def check_bits_beyond_features(make, within):
    narrow = np.ascontiguousarray(X[:, :5])
    assert make(n_bits=5).fit(narrow).transform(narrow).shape == (N, 5)
    if within:
        with pytest.raises(ProtocolError, match=r"n_bits: expected at most 5, the number of features, got 6"):
            make(n_bits=6).fit(narrow)
    else:
        assert make(n_bits=12).fit(narrow).transform(narrow).shape == (N, 12)


def check_rows_are_encoded_independently(make):
    hasher = fitted(make, 16)
    codes = hasher.transform(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(hasher.transform(X[order]), codes[order])
    for row in range(0, N, 10):
        np.testing.assert_array_equal(hasher.transform(X[row : row + 1]), codes[row : row + 1])


def check_constant_features(make):
    some = X.copy()
    some[:, 5:20] = 5
    assert make(n_bits=16).fit(some).transform(some).shape == (N, 16)
    every = np.full((N, D), 5, dtype=np.float32)
    codes = make(n_bits=16).fit(every).transform(every)
    np.testing.assert_array_equal(codes, np.broadcast_to(codes[0], codes.shape))


def check_duplicate_rows(make):
    train = np.concatenate([X[:50]] * 3)
    codes = make(n_bits=16).fit(train).transform(train)
    np.testing.assert_array_equal(codes, np.concatenate([codes[:50]] * 3))
    few = np.repeat(X[:3], 50, axis=0)
    codes = make(n_bits=2).fit(few).transform(few)
    np.testing.assert_array_equal(codes, np.repeat(codes[::50], 50, axis=0))


def check_clones(make):
    hasher = make(n_bits=16, seed=3)
    assert type(clone(hasher)) is type(hasher)
    assert vars(clone(hasher)) == vars(hasher)
    assert not learned(clone(fitted(make)))


def check_works_in_a_pipeline(make):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform(X)
    try:
        pipeline = make_pipeline(StandardScaler(), make(n_bits=8)).fit(X)
        bits = pipeline.transform(X)
    except (AttributeError, TypeError) as error:
        pytest.fail(f"no scikit-learn transformer: {error}")
    assert (bits == pipeline[-1].transform(scaled)).all()


def check_constructor_only_stores(make):
    odd = object()
    hasher = make(n_bits=odd, seed=odd)
    assert vars(hasher) == hasher.get_params()
    assert hasher.n_bits is odd
    assert hasher.seed is odd


def check_set_params(make):
    hasher = make(n_bits=8, seed=3)
    assert hasher.set_params(n_bits=16, seed=0) is hasher
    np.testing.assert_array_equal(hasher.fit(X).transform(X), fitted(make, 16).transform(X))
    with pytest.raises(ValueError, match="bits"):
        hasher.set_params(bits=8)


def check_repr(make):
    assert repr(make(n_bits=8, seed=3)) == f"{type(make()).__name__}(n_bits=8, seed=3)"


def check_fit_returns_self_and_a_record(make):
    hasher = make(n_bits=8)
    assert hasher.fit(X) is hasher
    assert isinstance(hasher.fit_record_, dict)
    try:
        text = json.dumps(hasher.fit_record_, allow_nan=False)
    except TypeError as error:
        pytest.fail(f"fit_record_: {error}")
    assert json.loads(text) == hasher.fit_record_
    assert hasher.n_features_in_ == D


def check_blocks_of_rows_do_not_matter(make):
    hasher = fitted(make, 16)
    codes = hasher.transform(X)
    for size in (1, 7, N - 1):
        blocks = [hasher.transform(X[start : start + size]) for start in range(0, N, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), codes)


def check_one_row(make):
    """With one training row, a hasher either works or reports how many rows it requires."""
    try:
        codes = make(n_bits=4).fit(X[:1]).transform(X[:2])
    except ProtocolError as error:
        assert re.search("training rows?.*, got 1[.]$", str(error))  # noqa: PT017 - an error is also correct
    else:
        assert codes.shape == (2, 4)


def check_a_training_set_can_be_shared_by_fits(make):
    training = TrainingSet(X, supervision_of(X, getattr(make, "supervision", None)))
    for n_bits in (16, 8):
        shared, alone = make(n_bits=n_bits).fit(training), fitted(make, n_bits)
        assert_same_model(shared, alone)
        assert shared.transform(X).tobytes() == alone.transform(X).tobytes()


def check_parameters_are_checked_without_data(make):
    assert make().check() is None
    for wrong in ({"n_bits": 0}, {"n_bits": 8.5}, {"seed": -1}):
        with pytest.raises(ProtocolError, match=f"{next(iter(wrong))}: expected an integer >="):
            make(**wrong).check()


def check_a_model_survives_a_file(make):
    """A model read from a file equals the written one: parameters, learned attributes, codes bit for bit."""
    for hasher in (fitted(make, 1), make(n_bits=np.int64(16), seed=3).fit(X)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.h5")
            storage.write(path, hasher.to_arrays(), storage.provenance("test", parameters={}, inputs={}))
            back = type(hasher).from_arrays(storage.read(path))
        assert back.get_params() == hasher.get_params()
        assert learned(back) == learned(hasher)
        assert_same_model(back, hasher)
        assert back.transform(X).tobytes() == hasher.transform(X).tobytes()


def check_odd_models_are_refused(make):
    arrays = fitted(make).to_arrays()
    load = type(make()).from_arrays
    with pytest.raises(ProtocolError, match=r"expected an array 'model', got no array"):
        load({})
    with pytest.raises(ProtocolError, match=r"expected the arrays .*, got .*surplus"):
        load(arrays | {"surplus": np.zeros(3)})
    with pytest.raises(ProtocolError, match="expected a readable description"):
        load(arrays | {"model": np.array("{")})
    described = json.loads(str(arrays["model"]))
    with pytest.raises(ProtocolError, match=r"expected the arrays of .*, got those of Other"):
        load(arrays | {"model": np.array(json.dumps(described | {"hasher": "Other"}))})
    for n_bits in (0, 9):
        longer = described | {"parameters": described["parameters"] | {"n_bits": n_bits}}
        with pytest.raises(ProtocolError, match="expected"):
            load(arrays | {"model": np.array(json.dumps(longer))})
    for name in set(arrays) - {"model"}:
        with pytest.raises(ProtocolError, match=f"expected the arrays .*{name}"):
            load({key: array for key, array in arrays.items() if key != name})
        odd = [np.atleast_1d(arrays[name])[:-1], arrays[name][None], arrays[name].astype(np.float16)]
        if arrays[name].dtype.kind == "f":
            odd.append(np.full_like(arrays[name], np.nan))
        for array in odd:
            with pytest.raises(ProtocolError, match=f"array {name!r}: expected"):
                load(arrays | {name: array})


def check_a_model_needs_a_fit(make):
    with pytest.raises(ProtocolError, match="unfitted"):
        make().to_arrays()


def check_supervision(make, kind):
    """Missing or invalid supervision is refused by name; supervision that is not required changes nothing."""
    hasher, name = make(n_bits=8), type(make()).__name__
    y = supervision_of(X, kind)
    if kind is None:
        for odd in (np.arange(N), "abc", np.full(3, np.nan)):
            np.testing.assert_array_equal(hasher.fit(X, odd).transform(X), fitted(make).transform(X))
        return
    assert_same_model(hasher.fit(X, y), make(n_bits=8).fit(TrainingSet(X, y)))
    assert hasher.__sklearn_tags__().target_tags.required
    refused = {f"{name} requires {kind}: expected fit\\(X, y\\) with y = .*, got no y[.]$": None}
    if kind == "labels":
        refused[f"{name} requires labels: labels: {N - 1} labels for {N} items\\.$"] = y[1:]
        refused[f"{name} requires labels: labels: expected integers .*, got shape \\({N},\\) of float64\\.$"] = y / 2
        one = f"{name} requires labels: labels: expected two classes or more, got one for all {N} training rows[.]$"
        for same in (np.zeros(N, dtype=int), np.ones((N, 2), dtype=bool)):
            with pytest.raises(ProtocolError, match=one):
                make().fit(X, same)
    elif kind == "affinities":
        refused[f"{name} requires affinities: affinities: expected integers >= 0 .* {N} x {N} .* shape \\({N - 1},"] = (
            y[1:, 1:]
        )
        refused[f"{name} requires affinities: affinities: expected integers >= 0 .* with minimum -2"] = -y
        refused[f"{name} requires affinities: affinities: expected a pair of related rows .*, got none[.]$"] = y * 0
    else:
        refused[f"{name} requires pairs: pairs: expected {N}, one per training row, got {N - 1}[.]$"] = y[1:]
    for message, wrong in refused.items():
        with pytest.raises(ProtocolError, match=message):
            make().fit(TrainingSet(X, wrong), y)


def check_divergence(make):
    """A training whose objective becomes non-finite stops and reports the step."""
    with pytest.raises(ProtocolError, match=r"step \d+ of \d+: expected a finite objective, got nan"):
        make().set_params(learning_rate=1e308).fit(X)


def assert_same_model(first, second):
    """Compare what two models have learned, bit for bit, and how they describe it."""
    one, other = first.to_arrays(), second.to_arrays()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], strict=True)


def learned(hasher):
    return sorted(name for name in vars(hasher) if name.endswith("_"))


PLAIN = [
    check_output,
    check_bits_vary,
    check_deterministic,
    check_does_not_modify_inputs,
    check_refuses_non_finite,
    check_refuses_other_inputs_than_matrices,
    check_refuses_transform_before_fit,
    check_refuses_n_bits_below_one,
    check_rows_are_encoded_independently,
    check_constant_features,
    check_duplicate_rows,
    check_clones,
    check_works_in_a_pipeline,
    check_constructor_only_stores,
    check_set_params,
    check_repr,
    check_fit_returns_self_and_a_record,
    check_blocks_of_rows_do_not_matter,
    check_one_row,
    check_a_training_set_can_be_shared_by_fits,
    check_parameters_are_checked_without_data,
    check_a_model_survives_a_file,
    check_odd_models_are_refused,
    check_a_model_needs_a_fit,
]


TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
HASHERS = [pytest.param(entry.name, marks=[TORCH] * (entry.extra is not None)) for entry in registry.entries("hasher")]


@pytest.mark.parametrize("check", PLAIN, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", HASHERS)
def test_every_hasher(name, check):
    check(taught(registry.get("hasher", name)))


@pytest.fixture(scope="module", params=["how-to/add-a-hasher", "tutorials/a-hasher-that-learns"])
def example(request, shown):
    """The record of a hasher that a page shows."""
    return shown(request.param, "hashers")


@pytest.mark.parametrize("check", PLAIN, ids=lambda check: check.__name__)
def test_the_hasher_of_a_page(example, check):
    check(taught(example.plugin))


def test_the_hasher_of_a_page_agrees_with_its_record(example):
    check_supervision(taught(example.plugin), example.plugin.supervision)
    check_seed(taught(example.plugin), example.random)
    check_bits_beyond_features(taught(example.plugin), example.bits_within_features)
    assert example.source
    assert example.deviations
    assert example.plugin.learned


@pytest.mark.parametrize("name", HASHERS)
def test_supervision_is_given_or_refused(name):
    hasher = registry.get("hasher", name)
    check_supervision(taught(hasher), hasher.supervision)


@pytest.mark.parametrize(
    "name",
    [name for name in HASHERS if "learning_rate" in registry.get("hasher", *name.values)().get_params()],
)
def test_a_diverging_training_stops_with_its_step(name):
    check_divergence(taught(registry.get("hasher", name)))


@pytest.mark.parametrize("name", HASHERS)
def test_the_seed_matters_if_registered_as_random(name):
    check_seed(taught(registry.get("hasher", name)), registry.entry("hasher", name).random)


@pytest.mark.parametrize("name", HASHERS)
def test_bits_beyond_the_features_are_treated_as_registered(name):
    check_bits_beyond_features(
        taught(registry.get("hasher", name)), registry.entry("hasher", name).bits_within_features
    )


@pytest.mark.parametrize("name", HASHERS)
def test_the_registration_names_source_and_deviations(name):
    entry = registry.entry("hasher", name)
    assert entry.source
    assert entry.deviations
    assert entry.summary.endswith(".")


# A correct hasher, random signs, and hashers with one fault each.


class Right:
    def __sklearn_tags__(self):
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags("transformer", TargetTags(required=False), TransformerTags())

    def __init__(self, n_bits=32, *, seed=0):
        self.n_bits = n_bits
        self.seed = seed

    def get_params(self, deep=True):
        return {"n_bits": self.n_bits, "seed": self.seed}

    def set_params(self, **params):
        for name, value in params.items():
            if name not in ("n_bits", "seed"):
                raise ProtocolError(f"unknown parameter {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        return f"{type(self).__name__}(n_bits={self.n_bits}, seed={self.seed})"

    def check(self):
        for name, least in (("n_bits", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ProtocolError(f"{name}: expected an integer >= {least}, got {value!r}")

    def to_arrays(self):
        if not hasattr(self, "W_"):
            raise ProtocolError("to_arrays: expected a fitted hasher, got an unfitted one")
        parameters = {"n_bits": int(self.n_bits), "seed": self.seed}
        described = {"hasher": type(self).__name__, "parameters": parameters}
        return {"model": np.array(json.dumps(described)), "W": self.W_}

    @classmethod
    def from_arrays(cls, arrays):
        if "model" not in arrays:
            raise ProtocolError("expected an array 'model', got no array")
        if set(arrays) != {"model", "W"}:
            raise ProtocolError(f"expected the arrays W, model, got {', '.join(sorted(arrays))}")
        try:
            described = json.loads(arrays["model"].astype(str).item())
        except ValueError as error:
            raise ProtocolError(f"expected a readable description, got an error: {error}") from error
        if described["hasher"] != cls.__name__:
            raise ProtocolError(f"expected the arrays of {cls.__name__}, got those of {described['hasher']}")
        hasher = cls(**described["parameters"])
        hasher.check()
        W = arrays["W"]
        if W.dtype != float or W.shape != (D, hasher.n_bits) or not np.isfinite(W).all():
            raise ProtocolError("array 'W': expected finite floats (D, n_bits)")
        hasher.W_, hasher.n_features_in_, hasher.fit_record_ = W, len(W), {}
        return hasher

    def fit(self, X, y=None):
        self.check()
        X = matrix(X.X if isinstance(X, TrainingSet) else X)
        self.n_features_in_ = X.shape[1]
        self.W_ = np.random.default_rng(self.seed).normal(size=(X.shape[1], self.n_bits))
        self.fit_record_ = {}
        return self

    def transform(self, X):
        if not hasattr(self, "W_"):
            raise ProtocolError("transform: expected a fitted hasher, got an unfitted one")
        return matrix(X, n_features=self.n_features_in_) @ self.W_ > 0


class Integers(Right):
    def transform(self, X):
        return super().transform(X).astype(int)


class Capped(Right):
    """Returns 20 bits at most, and no more than there are features, without an error."""

    def transform(self, X):
        return super().transform(X)[:, : min(20, self.n_features_in_)]


class Constant(Right):
    def transform(self, X):
        return np.ones_like(super().transform(X))


class Unseeded(Right):
    def fit(self, X, y=None):
        super().fit(X)
        self.W_ = np.random.default_rng().normal(size=self.W_.shape)
        return self


class ContinuesTheFirstFit(Right):
    """A second fit starts from the first."""

    def fit(self, X, y=None):
        before = getattr(self, "W_", None)
        super().fit(X)
        if before is not None:
            self.W_ = before + X[: self.n_bits].T
        return self


class Seedless(Right):
    def fit(self, X, y=None):
        super().fit(X)
        self.W_ = np.random.default_rng(0).normal(size=self.W_.shape)
        return self


class CentresInPlace(Right):
    def fit(self, X, y=None):
        X -= X.mean(axis=0)
        return super().fit(X)


class ScalesQueriesInPlace(Right):
    def transform(self, X):
        X *= 2
        return super().transform(X)


class ChangesItsParameters(Right):
    def fit(self, X, y=None):
        self.seed += 1
        return super().fit(X)


class FillsHoles(Right):
    def fit(self, X, y=None):
        return super().fit(np.nan_to_num(X))

    def transform(self, X):
        return super().transform(np.nan_to_num(X))


class FillsHolesInQueries(Right):
    def transform(self, X):
        return super().transform(np.nan_to_num(X))


class TakesVectors(Right):
    def fit(self, X, y=None):
        return super().fit(np.atleast_2d(X))


class TakesAnyWidth(Right):
    def transform(self, X):
        X = matrix(X)
        return X @ self.W_[: X.shape[1]] > 0


class FitsByItself(Right):
    def transform(self, X):
        return super().transform(X) if hasattr(self, "W_") else self.fit(X).transform(X)


class RoundsItsBits(Right):
    def fit(self, X, y=None):
        self.n_bits = max(1, int(self.n_bits))
        return super().fit(X)


class MedianOfTheBatch(Right):
    def transform(self, X):
        projected = matrix(X, n_features=self.n_features_in_) @ self.W_
        return projected >= np.median(projected, axis=0)


class RowNumbers(Right):
    def transform(self, X):
        codes = super().transform(X)
        codes[1::2] ^= True
        return codes


class Standardizes(Right):
    """Divides by the standard deviation, which a constant feature doesn't have."""

    def fit(self, X, y=None):
        super().fit(X)
        self.scale_ = 1 / matrix(X).std(axis=0)
        return self

    def transform(self, X):
        return super().transform(X * self.scale_)


class Jitters(Right):
    """Breaks ties at random."""

    def transform(self, X):
        X = matrix(X, n_features=self.n_features_in_)
        return (X + np.random.default_rng(0).normal(size=X.shape)) @ self.W_ > 0


class NoTags(Right):
    __sklearn_tags__ = None


class OtherDefault(Right):
    def get_params(self, deep=True):
        return {"n_bits": self.n_bits}


class Converts(Right):
    def __init__(self, n_bits=32, *, seed=0):
        super().__init__(n_bits, seed=str(seed))


class Prepares(Right):
    def __init__(self, n_bits=32, *, seed=0):
        super().__init__(n_bits, seed=seed)
        self.generator = np.random.default_rng(0)


class IgnoresUnknown(Right):
    def set_params(self, **params):
        vars(self).update(params)
        return self


class SetsNothing(Right):
    def set_params(self, **params):
        return self if "bits" not in params else super().set_params(**params)


class NamelessRepr(Right):
    __repr__ = object.__repr__


class ReturnsNothing(Right):
    def fit(self, X, y=None):
        super().fit(X)


class RecordsNumpy(Right):
    def fit(self, X, y=None):
        super().fit(X)
        self.fit_record_ = {"n_iter": np.int64(3)}
        return self


class RecordsTuples(Right):
    def fit(self, X, y=None):
        super().fit(X)
        self.fit_record_ = {"sizes": (1, 2)}
        return self


class NeedsRows(Right):
    """Divides by the spread over the training rows, which one row doesn't have."""

    def fit(self, X, y=None):
        super().fit(X)
        self.W_ = self.W_ / matrix(X.X if isinstance(X, TrainingSet) else X).var(axis=0, ddof=1)[:, None]
        return self


class NeedsRowsWithoutAnError(Right):
    def fit(self, X, y=None):
        super().fit(X)
        if len(X.X if isinstance(X, TrainingSet) else X) < 2:
            raise ProtocolError("can't fit")
        return self


class UsesUpATrainingSet(Right):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, TrainingSet):
            self.W_ = self.W_ + len(vars(X))
            X.used = True
        return self


class ChecksInFitOnly(Right):
    def check(self):
        pass

    def fit(self, X, y=None):
        Right.check(self)
        return super().fit(X)


class RoundsItsModel(Right):
    def to_arrays(self):
        return super().to_arrays() | {"W": self.W_.astype(np.float16).astype(float)}


class ForgetsItsSeed(Right):
    @classmethod
    def from_arrays(cls, arrays):
        hasher = super().from_arrays(arrays)
        hasher.seed = 0
        return hasher


class LoadsAnything(Right):
    @classmethod
    def from_arrays(cls, arrays):
        hasher = cls()
        hasher.W_ = arrays.get("W")
        return hasher


class LoadsAnyWidth(Right):
    @classmethod
    def from_arrays(cls, arrays):
        hasher = super().from_arrays(arrays | {"W": np.zeros((D, 8))} if "W" in arrays else arrays)
        hasher.W_ = arrays["W"]
        return hasher


class StoresNothing(Right):
    def to_arrays(self):
        self.W_ = getattr(self, "W_", None)
        return super().to_arrays()


class LooksAtLabels(Right):
    def fit(self, X, y=None):
        super().fit(X)
        if y is not None:
            self.W_ = np.full_like(self.W_, len(y))
        return self


class Supervised(Hasher):
    """Signs of the first features; all kinds of supervision are required but not used."""

    learned = {}

    def _fit(self, training, rng):
        return {}

    def _encode(self, X):
        return X[:, : self.n_bits] > 0


class Encodes(Hasher):
    """A hasher on the base class whose mistakes the base class must report."""

    learned = {"mean_": ("float32", "d")}

    def _fit(self, training, rng):
        self.mean_ = training.mean
        return {}

    def _encode(self, X):
        return np.resize(self.mean_ < X, (len(X), self.n_bits))


class EncodesNumbers(Encodes):
    def _encode(self, X):
        return super()._encode(X).astype(np.float32)


class EncodesTooFewBits(Encodes):
    def _encode(self, X):
        return super()._encode(X)[:, 1:]


class EncodesOneBit(Encodes):
    """NumPy would repeat it for every bit."""

    def _encode(self, X):
        return super()._encode(X)[:, :1]


class EncodesOneRow(Encodes):
    def _encode(self, X):
        return super()._encode(X)[0]


class EncodesLists(Encodes):
    def _encode(self, X):
        return super()._encode(X).tolist()


class FitReturnsArrays(Encodes):
    def _fit(self, training, rng):
        return training.mean


class FitReturnsNothing(Encodes):
    def _fit(self, training, rng):
        self.mean_ = training.mean


class FitForgetsAnArray(Encodes):
    learned = {"mean_": ("float32", "d"), "scale_": ("float32", "d")}


class FitOfAnotherType(Encodes):
    def _fit(self, training, rng):
        self.mean_ = training.mean.astype(float)
        return {}


class FitOfAnotherLength(Encodes):
    learned = {"mean_": ("float32", "n_bits")}


MISTAKES = {
    EncodesNumbers: r"_encode: expected an array of bool, shape \(20, 8\), got float32 of shape \(20, 8\)\.$",
    EncodesTooFewBits: r"_encode: expected .* shape \(20, 8\), got bool of shape \(20, 7\)\.$",
    EncodesOneBit: r"_encode: expected .* got bool of shape \(20, 1\)\.$",
    EncodesOneRow: r"_encode: expected .* got bool of shape \(8,\)\.$",
    EncodesLists: r"_encode: expected .* got list\.$",
    FitReturnsArrays: r"_fit: expected a dict .*, got ndarray\. Set learned arrays as attributes",
    FitReturnsNothing: r"_fit: expected a dict .*, got NoneType",
    FitForgetsAnArray: r"_fit: expected all attributes in `learned` to be set, got no scale_\.$",
    FitOfAnotherType: r"_fit: mean_: expected float32 of shape \(40,\), got float64 of shape \(40,\)\.$",
    FitOfAnotherLength: r"_fit: mean_: expected float32 of shape \(8,\), got float32 of shape \(40,\)\.$",
}


class FromLabels(Supervised):
    supervision = "labels"


class FromAffinities(Supervised):
    supervision = "affinities"


class FromPairs(Supervised):
    supervision = "pairs"


class ContinuesAfterNaN(Right):
    def __init__(self, n_bits=32, *, seed=0, learning_rate=1.0):
        super().__init__(n_bits, seed=seed)
        self.learning_rate = learning_rate

    def set_params(self, learning_rate):
        self.learning_rate = learning_rate
        return self


class AcceptsMissingSupervision(FromLabels):
    def _check_supervision(self, training):
        pass


def forgiving(right, refusal):
    """Return a hasher that ignores errors about its supervision with this text."""

    class Forgiving(right):
        def _check_supervision(self, training):
            try:
                super()._check_supervision(training)
            except ProtocolError as error:
                if refusal not in str(error):
                    raise

    return Forgiving


KINDS = {None: Right, "labels": FromLabels, "affinities": FromAffinities, "pairs": FromPairs}
RANDOM = functools.partial(check_seed, random=True)
FIXED = functools.partial(check_seed, random=False)
WITHIN = functools.partial(check_bits_beyond_features, within=True)
BEYOND = functools.partial(check_bits_beyond_features, within=False)
UNSUPERVISED = functools.partial(check_supervision, kind=None)
LABELLED = functools.partial(check_supervision, kind="labels")
FORGIVEN = {
    "labels": ["got no y", "labels for", "expected integers", "two classes"],
    "affinities": ["got no y", f"{N} x {N}", "minimum -2", "related rows"],
    "pairs": ["got no y", "one per training row"],
}
"""The errors by which a supervised hasher must refuse its input."""


def name_of(given):
    """Return the name of a check, with what it is given, or of a hasher: the same in every process."""
    options = getattr(given, "keywords", {}).items()
    return " ".join([getattr(given, "func", given).__name__, *(f"{key}={value}" for key, value in options)])


@pytest.mark.parametrize("check", [*PLAIN, RANDOM, BEYOND], ids=name_of)
def test_the_right_hasher_passes(check):
    check(Right)


def test_the_right_hasher_on_the_base_class_passes():
    for check in (check_output, check_fit_returns_self_and_a_record, check_a_model_survives_a_file):
        check(Encodes)


@pytest.mark.parametrize(("wrong", "message"), MISTAKES.items(), ids=lambda given: getattr(given, "__name__", ""))
def test_the_base_class_reports_a_mistake_by_class_and_method(wrong, message):
    with pytest.raises(ProtocolError, match=f"^{wrong.__name__}[.]{message}"):
        wrong(n_bits=8).fit(X).transform(X[:20])


@pytest.mark.parametrize(("kind", "right"), KINDS.items())
def test_a_right_hasher_of_each_kind_passes(kind, right):
    check_supervision(right, kind)


def test_an_unknown_kind_of_supervision_is_refused():
    with pytest.raises(ProtocolError, match=r"supervision of Odd: expected .*, got 'label'.*Did you mean 'labels'"):
        type("Odd", (Supervised,), {"supervision": "label"})


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (UNSUPERVISED, LooksAtLabels),
        (LABELLED, AcceptsMissingSupervision),
        (check_divergence, ContinuesAfterNaN),
        (check_output, Integers),
        (check_output, Capped),
        (check_bits_vary, Constant),
        (check_deterministic, Unseeded),
        (check_deterministic, ContinuesTheFirstFit),
        (RANDOM, Seedless),
        (FIXED, Right),
        (check_does_not_modify_inputs, CentresInPlace),
        (check_does_not_modify_inputs, ScalesQueriesInPlace),
        (check_does_not_modify_inputs, ChangesItsParameters),
        (check_refuses_non_finite, FillsHoles),
        (check_refuses_non_finite, FillsHolesInQueries),
        (check_refuses_other_inputs_than_matrices, TakesVectors),
        (check_refuses_other_inputs_than_matrices, TakesAnyWidth),
        (check_refuses_transform_before_fit, FitsByItself),
        (check_refuses_n_bits_below_one, RoundsItsBits),
        (WITHIN, Right),
        (WITHIN, Capped),
        (BEYOND, Capped),
        (check_rows_are_encoded_independently, MedianOfTheBatch),
        (check_rows_are_encoded_independently, RowNumbers),
        (check_constant_features, Standardizes),
        (check_constant_features, Jitters),
        (check_duplicate_rows, RowNumbers),
        (check_duplicate_rows, Jitters),
        (check_clones, OtherDefault),
        (check_works_in_a_pipeline, NoTags),
        (check_constructor_only_stores, Converts),
        (check_constructor_only_stores, Prepares),
        (check_set_params, IgnoresUnknown),
        (check_set_params, SetsNothing),
        (check_repr, NamelessRepr),
        (check_fit_returns_self_and_a_record, ReturnsNothing),
        (check_fit_returns_self_and_a_record, RecordsNumpy),
        (check_fit_returns_self_and_a_record, RecordsTuples),
        (check_blocks_of_rows_do_not_matter, MedianOfTheBatch),
        (check_blocks_of_rows_do_not_matter, RowNumbers),
        (check_one_row, NeedsRows),
        (check_one_row, NeedsRowsWithoutAnError),
        (check_a_training_set_can_be_shared_by_fits, UsesUpATrainingSet),
        (check_parameters_are_checked_without_data, ChecksInFitOnly),
        (check_a_model_survives_a_file, RoundsItsModel),
        (check_a_model_survives_a_file, ForgetsItsSeed),
        (check_odd_models_are_refused, LoadsAnything),
        (check_odd_models_are_refused, LoadsAnyWidth),
        (check_a_model_needs_a_fit, StoresNothing),
    ],
    ids=name_of,
)
def test_a_wrong_hasher_is_caught(check, wrong):
    with pytest.raises(CAUGHT):
        check(wrong)


@pytest.mark.parametrize(("kind", "refusal"), [(kind, refusal) for kind in FORGIVEN for refusal in FORGIVEN[kind]])
def test_a_hasher_that_accepts_invalid_supervision_is_caught(kind, refusal):
    with pytest.raises(CAUGHT):
        check_supervision(forgiving(KINDS[kind], refusal), kind)


def test_every_check_has_a_wrong_hasher():
    (marks,) = (mark for mark in test_a_wrong_hasher_is_caught.pytestmark if mark.name == "parametrize")
    rejected = {getattr(check, "func", check) for check, _ in marks.args[1]}
    assert rejected == {*PLAIN, check_seed, check_bits_beyond_features, check_supervision, check_divergence}

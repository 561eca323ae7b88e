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


def check_refuses_to_work_before_fit(make):
    for call in (lambda: make().transform(X), lambda: make().to_arrays()):
        with pytest.raises(ProtocolError, match="unfitted"):
            call()


def check_refuses_wrong_parameters(make):
    assert make().check() is None
    for name, wrong in (*(("n_bits", value) for value in (0, -8, 7.5, "8")), ("seed", -1)):
        hasher = make(**{name: wrong})
        for call in (hasher.check, functools.partial(hasher.fit, X)):
            with pytest.raises(ProtocolError, match=f"{name}: expected an integer >="):
                call()


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
    order = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(hasher.transform(X[order]), codes[order])
    for size in (1, 7, N - 1):
        blocks = [hasher.transform(X[start : start + size]) for start in range(0, N, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), codes)


def check_constant_features(make):
    some = X.copy()
    some[:, 5:20] = 5
    assert make(n_bits=16).fit(some).transform(some).shape == (N, 16)
    every = np.full((N, D), 5, dtype=np.float32)
    codes = make(n_bits=16).fit(every).transform(every)
    np.testing.assert_array_equal(codes, np.broadcast_to(codes[0], codes.shape))


def check_duplicate_rows(make):
    # Of a training row, an output may be 0 but for rounding: a learned threshold can lie at a row.
    codes = make(n_bits=16).fit(np.concatenate([X[:50]] * 3)).transform(np.concatenate([X[50:100]] * 3))
    np.testing.assert_array_equal(codes, np.concatenate([codes[:50]] * 3))
    few = np.repeat(X[:3], 50, axis=0)
    codes = make(n_bits=2).fit(few).transform(np.repeat(X[3:6], 50, axis=0))
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
    check
    for name, check in list(globals().items())
    if name.startswith("check_")
    and list(inspect.signature(check).parameters) == ["make"]
    and check is not check_divergence
]
"""The checks of every hasher."""


TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
HASHERS = [pytest.param(entry.name, marks=[TORCH] * (entry.extra is not None)) for entry in registry.entries("hasher")]


def check_record(record):
    make = taught(record.plugin)
    check_supervision(make, record.plugin.supervision)
    check_seed(make, record.random)
    check_bits_beyond_features(make, record.bits_within_features)
    assert record.source
    assert record.deviations
    assert record.summary.endswith(".")


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
    check_record(example)
    assert example.plugin.learned


@pytest.mark.parametrize(
    "name",
    [name for name in HASHERS if "learning_rate" in registry.get("hasher", *name.values)().get_params()],
)
def test_a_diverging_training_stops_with_its_step(name):
    check_divergence(taught(registry.get("hasher", name)))


@pytest.mark.parametrize("name", HASHERS)
def test_a_registered_hasher_agrees_with_its_record(name):
    check_record(registry.entry("hasher", name))


# A correct hasher, random signs, and hashers with one fault each.


class Right(Hasher):
    learned = {"W_": ("float64", "d", "n_bits")}

    def _fit(self, training, rng):
        self.W_ = rng.normal(size=(training.X.shape[1], self.n_bits))
        return {}

    def _encode(self, X):
        return X @ self.W_ > 0


def but(name, *, base=Right, options=None, **methods):
    """Return the right hasher, except for some methods."""
    options = options or {}
    return type(name, (base,), {**methods, "__annotations__": dict.fromkeys(options, float), **options})


def encoding(name, encode):
    """Return the right hasher, but for what becomes of its bits."""
    return but(name, transform=lambda self, X: encode(self, Right.transform(self, X)))


def seeing(name, see):
    """Return the right hasher, but for rows that `transform` changes first."""
    return but(name, transform=lambda self, X: Right.transform(self, see(X)))


def fitting(name, prepare):
    """Return the right hasher, but for rows or parameters that `fit` changes first."""
    return but(name, fit=lambda self, X, y=None: Right.fit(self, prepare(self, X, y)))


def recording(name, learn):
    """Return the right hasher, but for what it learns and records."""
    return but(name, _fit=lambda self, training, rng: Right._fit(self, training, rng) | (learn(self, training) or {}))


def loading(name, load):
    return but(name, from_arrays=classmethod(load))


def continues_the_first_fit(self, training, rng):
    before = getattr(self, "W_", None)
    Right._fit(self, training, rng)
    self.W_ = self.W_ if before is None else before + training.X[: self.n_bits].T
    return {}


def uses_up(self, training):
    self.W_ += len(vars(training))
    training.used = True


def needs_rows(self, training):
    self.W_ /= training.X.var(axis=0, ddof=1)[:, None]


def without_enough_rows(self, X, y):
    if len(X.X if isinstance(X, TrainingSet) else X) < 2:
        raise ProtocolError("can't fit")
    return X


def of_any_width(cls, arrays):
    hasher = Right.from_arrays.__func__(cls, arrays | {"W_": np.zeros((D, 8))} if "W_" in arrays else arrays)
    hasher.W_ = arrays["W_"]
    return hasher


def forgiving(kind, refusal):
    """Return a hasher with a kind of supervision that ignores errors about it with this text."""

    def _check_supervision(self, training):
        try:
            Right._check_supervision(self, training)
        except ProtocolError as error:
            if refusal not in str(error):
                raise

    return but("Forgiving", supervision=kind, _check_supervision=_check_supervision)


RANDOM = functools.partial(check_seed, random=True)
FIXED = functools.partial(check_seed, random=False)
WITHIN = functools.partial(check_bits_beyond_features, within=True)
BEYOND = functools.partial(check_bits_beyond_features, within=False)
UNSUPERVISED = functools.partial(check_supervision, kind=None)
CAPPED = encoding("Capped", lambda self, bits: bits[:, : min(20, self.n_features_in_)])
MEDIAN_OF_THE_BATCH = but("MedianOfTheBatch", transform=lambda self, X: (V := X @ self.W_) >= np.median(V, axis=0))
ROW_NUMBERS = encoding("RowNumbers", lambda self, bits: bits ^ (np.arange(len(bits)) % 2 == 1)[:, None])
JITTERS = seeing("Jitters", lambda X: X + np.random.default_rng(0).normal(size=X.shape))
WRONG = [
    (UNSUPERVISED, fitting("LooksAtLabels", lambda self, X, y: X if y is None else self.set_params(seed=9) and X)),
    (check_divergence, but("ContinuesAfterNaN", options={"learning_rate": 1.0})),
    (check_output, encoding("Integers", lambda self, bits: bits.astype(int))),
    (check_output, CAPPED),
    (check_bits_vary, encoding("Constant", lambda self, bits: np.ones_like(bits))),
    (
        check_deterministic,
        but("Unseeded", _fit=lambda self, training, rng: Right._fit(self, training, np.random.default_rng())),
    ),
    (check_deterministic, but("ContinuesTheFirstFit", _fit=continues_the_first_fit)),
    (RANDOM, but("Seedless", _fit=lambda self, training, rng: Right._fit(self, training, np.random.default_rng(0)))),
    (FIXED, Right),
    (check_does_not_modify_inputs, fitting("Centres", lambda self, X, y: np.subtract(X, X.mean(axis=0), out=X))),
    (check_does_not_modify_inputs, seeing("ScalesQueries", lambda X: np.multiply(X, 2, out=X))),
    (check_does_not_modify_inputs, fitting("Reseeds", lambda self, X, y: self.set_params(seed=self.seed + 1) and X)),
    (check_refuses_non_finite, fitting("FillsHoles", lambda self, X, y: np.nan_to_num(X))),
    (check_refuses_non_finite, seeing("FillsHolesInQueries", np.nan_to_num)),
    (check_refuses_other_inputs_than_matrices, fitting("TakesVectors", lambda self, X, y: np.atleast_2d(X))),
    (
        check_refuses_other_inputs_than_matrices,
        but("TakesAnyWidth", transform=lambda self, X: matrix(X) @ self.W_[: np.shape(X)[1]] > 0),
    ),
    (
        check_refuses_to_work_before_fit,
        but("FitsByItself", transform=lambda self, X: Right.transform(self if hasattr(self, "W_") else self.fit(X), X)),
    ),
    (
        check_refuses_to_work_before_fit,
        but("StoresNothing", to_arrays=lambda self: Right.to_arrays(self) if hasattr(self, "W_") else {}),
    ),
    (
        check_refuses_wrong_parameters,
        but("ChecksInFitOnly", check=lambda self: None, fit=lambda self, X: Right.check(self) or Right.fit(self, X)),
    ),
    (check_refuses_wrong_parameters, but("ChecksNothing", check=lambda self: None)),
    (WITHIN, Right),
    (WITHIN, CAPPED),
    (BEYOND, CAPPED),
    (check_rows_are_encoded_independently, MEDIAN_OF_THE_BATCH),
    (check_rows_are_encoded_independently, ROW_NUMBERS),
    (check_constant_features, fitting("Standardises", lambda self, X, y: X / X.std(axis=0))),
    (check_constant_features, JITTERS),
    (check_duplicate_rows, ROW_NUMBERS),
    (check_duplicate_rows, JITTERS),
    (check_clones, but("OtherDefault", get_params=lambda self, deep=True: {"n_bits": self.n_bits})),
    (check_works_in_a_pipeline, but("NoTags", __sklearn_tags__=None)),
    (
        check_constructor_only_stores,
        but("Converts", __init__=lambda self, n_bits=32, *, seed=0: Right.__init__(self, n_bits, seed=str(seed))),
    ),
    (
        check_constructor_only_stores,
        but("Prepares", __init__=lambda self, n_bits=32, *, seed=0: vars(self).update(n_bits=n_bits, seed=seed, a=1)),
    ),
    (check_set_params, but("IgnoresUnknown", set_params=lambda self, **given: vars(self).update(given) or self)),
    (
        check_set_params,
        but("SetsNothing", set_params=lambda self, **new: self if "seed" in new else Right.set_params(self, **new)),
    ),
    (check_repr, but("NamelessRepr", __repr__=object.__repr__)),
    (check_fit_returns_self_and_a_record, but("ReturnsNothing", fit=lambda self, X: Right.fit(self, X) and None)),
    (check_fit_returns_self_and_a_record, recording("RecordsNumPy", lambda self, training: {"n_iter": np.int64(3)})),
    (check_fit_returns_self_and_a_record, recording("RecordsTuples", lambda self, training: {"sizes": (1, 2)})),
    (
        check_one_row,
        recording(
            "NeedsRows", lambda self, training: setattr(self, "W_", self.W_ / training.X.var(axis=0, ddof=1)[:, None])
        ),
    ),
    (check_one_row, fitting("NeedsRowsWithoutAnError", without_enough_rows)),
    (check_a_training_set_can_be_shared_by_fits, recording("UsesUpATrainingSet", uses_up)),
    (
        check_a_model_survives_a_file,
        but("RoundsItsModel", to_arrays=lambda self: Right.to_arrays(self) | {"W_": self.W_.round(1)}),
    ),
    (
        check_a_model_survives_a_file,
        loading("ForgetsItsSeed", lambda cls, arrays: Right.from_arrays.__func__(cls, arrays).set_params(seed=0)),
    ),
    (check_odd_models_are_refused, loading("LoadsAnything", lambda cls, arrays: cls())),
    (check_odd_models_are_refused, loading("LoadsAnyWidth", of_any_width)),
    *(
        (functools.partial(check_supervision, kind=kind), forgiving(kind, refusal))
        for kind, refusals in {
            "labels": ["", "got no y", "labels for", "expected integers", "two classes"],
            "affinities": ["got no y", f"{N} x {N}", "minimum -2", "related rows"],
            "pairs": ["got no y", "one per training row"],
        }.items()
        for refusal in refusals
    ),
]
MEAN = {"mean_": ("float32", "d")}
MISTAKES = [
    (
        {"_encode": lambda self, X: X[:, :8]},
        r"_encode: expected an array of bool, shape \(20, 8\), got float32 of",
    ),
    (
        {"_encode": lambda self, X: X[:, :7] > 0},
        r"_encode: expected .* \(20, 8\), got bool of shape \(20, 7\)\.$",
    ),
    ({"_encode": lambda self, X: X[:, :1] > 0}, r"_encode: expected .* got bool of shape \(20, 1\)\.$"),  # not repeated
    ({"_encode": lambda self, X: X[0, :8] > 0}, r"_encode: expected .* got bool of shape \(8,\)\.$"),
    ({"_encode": lambda self, X: (X[:, :8] > 0).tolist()}, r"_encode: expected .* got list\.$"),
    (
        {"_fit": lambda self, training, rng: training.mean},
        r"_fit: expected a dict .*, got ndarray\. Set learned",
    ),
    ({"_fit": lambda self, training, rng: None}, r"_fit: expected a dict .*, got NoneType"),
    ({"learned": MEAN}, r"_fit: expected all attributes in `learned` to be set, got no mean_\.$"),
    ({"learned": {"W_": ("float32", "d", "n_bits")}}, r"_fit: W_: expected float32 of shape \(40, 8\), got float64 of"),
    ({"learned": {"W_": ("float64", "n_bits", "d")}}, r"_fit: W_: expected float64 of shape \(8, 40\), got float64 of"),
]


def name_of(given):
    """Return the name of a check, with what it is given, or of a hasher: the same in every process."""
    options = getattr(given, "keywords", {}).items()
    return " ".join([getattr(given, "func", given).__name__, *(f"{key}={value}" for key, value in options)])


@pytest.mark.parametrize("check", [*PLAIN, RANDOM, BEYOND, UNSUPERVISED], ids=name_of)
def test_the_right_hasher_passes(check):
    check(Right)


@pytest.mark.parametrize("kind", ["labels", "affinities", "pairs"])
def test_a_right_hasher_of_each_kind_of_supervision_passes(kind):
    check_supervision(but("Supervised", supervision=kind), kind)


@pytest.mark.parametrize(("methods", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_the_base_class_reports_a_mistake_by_class_and_method(methods, message):
    with pytest.raises(ProtocolError, match=f"^Mistaken[.]{message}"):
        but("Mistaken", **methods)(n_bits=8).fit(X).transform(X[:20])


def test_an_unknown_kind_of_supervision_is_refused():
    with pytest.raises(ProtocolError, match=r"supervision of Odd: expected .*, got 'label'.*Did you mean 'labels'"):
        but("Odd", supervision="label")


@pytest.mark.parametrize(("check", "wrong"), WRONG, ids=name_of)
def test_a_wrong_hasher_is_caught(check, wrong):
    with pytest.raises(CAUGHT):
        check(wrong)


def test_every_check_has_a_wrong_hasher():
    rejected = {getattr(check, "func", check) for check, _ in WRONG}
    assert rejected == {*PLAIN, check_seed, check_bits_beyond_features, check_supervision, check_divergence}

"""The guarantees of every registered hasher, and for each of them wrong hashers that must be rejected.

A check takes `make(n_bits=32, seed=0)`, which returns an unfitted hasher. If a check gives no supervision, `taught`
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
from encoded import refuses
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from protocol import registry
from protocol.checks import ProtocolError
from protocol.hashers import Hasher, TrainingSet, repeatability
from protocol.inputs.validation import matrix
from protocol.provenance import storage

N, D = 160, 40
RNG = np.random.default_rng(7)
X = 3 * RNG.normal(size=(6, D))[RNG.integers(0, 6, N)] + RNG.normal(size=(N, D)) * np.linspace(2, 0.5, D)
X = X.astype(np.float32)
CAUGHT = (AssertionError, pytest.fail.Exception, ArithmeticError, RuntimeWarning, ProtocolError)
BRIEF = {"n_steps": 5, "epochs": 3, "batch_size": 64, "n_anchors": 150, "n_trees": 5}
"""Small values of the options that determine the training time; they suffice for the checks."""


def supervision_of(X, kind):
    """Return made-up supervision: eight classes by the first feature, neighbours in that order, or X mirrored."""
    rows = np.asarray(X)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu" or kind is None:
        return None
    rank = np.lexsort((np.arange(len(rows)), rows[:, 0])).argsort()
    apart = np.abs(rank[:, None] - rank)
    levels = (apart < len(rows) / 8).astype(int) + (apart < len(rows) / 40)
    return {"labels": rank * 8 // len(rows), "affinities": csr_array(levels), "pairs": rows[:, ::-1]}[kind]


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


@functools.cache
def fitted(make):
    """Return the model of X, 32 bits, that all checks of a hasher share; none of them changes it."""
    return make().fit(X.copy())


def assert_same_model(first, second):
    """Compare what two models have learned, bit for bit, and how they describe it."""
    one, other = first.to_arrays(), second.to_arrays()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], strict=True)


def learned(hasher):
    return sorted(name for name in vars(hasher) if name.endswith("_"))


def check_codes(make):
    codes = fitted(make).transform(X)
    assert isinstance(codes, np.ndarray)
    assert codes.dtype == bool
    assert codes.shape == (N, 32)
    assert len(np.unique(codes, axis=0)) > 5
    assert np.logical_and(codes.any(axis=0), ~codes.all(axis=0)).sum() >= 16


def check_second_fit(make):
    """A fit after one on other rows, with another length and seed, gives the same model, and changes no input."""
    train, query, hasher = X.copy(), X[:20].copy(), make(n_bits=1, seed=3)
    hasher.fit(X[:100])
    np.random.random()  # noqa: NPY002 - it would change a hasher that drew from the global generator
    assert hasher.set_params(n_bits=32, seed=0).fit(train) is hasher
    codes = hasher.transform(query)
    np.testing.assert_array_equal(train, X)
    np.testing.assert_array_equal(query, X[:20])
    assert hasher.get_params() == make().get_params()
    assert_same_model(hasher, fitted(make))
    np.testing.assert_array_equal(codes, fitted(make).transform(X)[:20])


def check_a_training_set_can_be_shared_by_fits(make):
    training = TrainingSet(X, supervision_of(X, getattr(make, "supervision", None)))
    make(n_bits=8).fit(training)
    assert_same_model(make().fit(training), fitted(make))


def check_refuses_other_inputs_than_finite_matrices(make):
    spoilt = [np.where(np.arange(N * D).reshape(N, D) == 3 * D + 2, bad, X) for bad in (np.nan, np.inf, -np.inf)]
    for call in (make().fit, fitted(make).transform):
        for bad in spoilt:
            refuses("first in row 3", call, bad)
        for bad in (X[0], X[:0], X[None], [["a"]]):
            refuses("X: expected", call, bad)
    refuses(f"^X: {D - 1} features, but fit had {D}[.]$", fitted(make).transform, X[:, 1:])
    refuses(f"^{type(make()).__name__}[.]transform: the hasher is not fitted[.]", make().transform, X)
    refuses("[.]to_arrays: the hasher is not fitted[.]", make().to_arrays)


def check_refuses_wrong_parameters(make):
    assert make().check() is None
    for name, wrong in (*(("n_bits", value) for value in (0, -8, 7.5, "8")), ("seed", -1)):
        hasher = make(**{name: wrong})
        refuses(f"{name} must be an integer >=", hasher.check)
        refuses(f"{name} must be an integer >=", hasher.fit, X)


def check_rows_are_encoded_independently(make):
    hasher, order = fitted(make), np.random.default_rng(0).permutation(N)
    codes = hasher.transform(X)
    np.testing.assert_array_equal(hasher.transform(X[order]), codes[order])
    for size in (1, 7, N - 1):
        blocks = [hasher.transform(X[start : start + size]) for start in range(0, N, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), codes)


def check_what_determines_codes(make):
    repeatability.check_hasher(make(n_bits=8), X, supervision_of(X, getattr(make, "supervision", None)))


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


def check_one_row(make):
    """With one training row, a hasher either works or reports how many rows it requires."""
    try:
        codes = make(n_bits=4).fit(X[:1]).transform(X[:2])
    except ProtocolError as error:
        assert re.search("at least .* training (rows|vectors).*, got 1[.]$", str(error))  # noqa: PT017 - an error is also correct
    else:
        assert codes.shape == (2, 4)


def check_scikit_learns_conventions(make):
    odd = object()
    hasher = make(n_bits=odd, seed=odd)
    assert vars(hasher) == hasher.get_params()
    assert hasher.n_bits is hasher.seed is odd
    hasher = make(n_bits=8, seed=3)
    assert repr(hasher) == f"{type(make()).__name__}(n_bits=8, seed=3)"
    with pytest.raises(ValueError, match="bits"):
        hasher.set_params(bits=8)
    for copied in (clone(hasher), clone(make(n_bits=8, seed=3).fit(X))):
        assert type(copied) is type(hasher)
        assert vars(copied) == vars(hasher)
    try:
        pipeline = make_pipeline(StandardScaler(), make(n_bits=8)).fit(X)
        bits = pipeline.transform(X)
    except (AttributeError, TypeError) as error:
        pytest.fail(f"no scikit-learn transformer: {error}")
    assert (bits == pipeline[-1].transform(StandardScaler().fit_transform(X))).all()


def check_fit_record(make):
    record = fitted(make).fit_record_
    assert isinstance(record, dict)
    try:
        assert json.loads(json.dumps(record, allow_nan=False)) == record
    except TypeError as error:
        pytest.fail(f"fit_record_: {error}")


def check_a_model_survives_a_file(make):
    """A model read from a file equals the written one: parameters, learned attributes, codes bit for bit."""
    for hasher in (fitted(make), make(n_bits=np.int64(1), seed=3).fit(X)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.h5")
            storage.write(path, hasher.to_arrays(), storage.provenance("test", parameters={}, inputs={}))
            back = type(hasher).from_arrays(storage.read(path))
        assert back.get_params() == hasher.get_params()
        assert learned(back) == learned(hasher)
        assert_same_model(back, hasher)
        assert back.transform(X).tobytes() == hasher.transform(X).tobytes()


def check_odd_models_are_refused(make):
    arrays, load, where = fitted(make).to_arrays(), type(make()).from_arrays, f"model of {type(make()).__name__}: "
    described = json.loads(str(arrays["model"]))
    refuses(f"^{where}the description can't be read: 'model'$", load, {})
    refuses(f"^{where}expected the arrays .*, got .*surplus", load, arrays | {"surplus": np.zeros(3)})
    for text in ("{", "3", '{"hasher": "ITQ", "parameters": 3}'):
        refuses(f"^{where}the description can't be read: ", load, arrays | {"model": np.array(text)})
    for message, changed in (
        (f"{where}these are the arrays of Other[.]$", {"hasher": "Other"}),
        ("n_bits must be an integer >= 1", {"parameters": described["parameters"] | {"n_bits": 0}}),
        (f"{where}array '", {"parameters": described["parameters"] | {"n_bits": 33}}),
        (f"Unknown option 'bits' of {type(make()).__name__}.* Did you mean 'n_bits'", {"parameters": {"bits": 3}}),
    ):
        refuses(f"^{message}", load, arrays | {"model": np.array(json.dumps(described | changed))})
    for name in set(arrays) - {"model"}:
        refuses(f"^{where}expected the arrays .*{name}", load, {key: arrays[key] for key in arrays if key != name})
        for odd in (np.atleast_1d(arrays[name])[:-1], arrays[name][None], arrays[name].astype(np.float16)):
            refuses(f"^{where}array {name!r}: expected {arrays[name].dtype} of shape", load, arrays | {name: odd})
        if arrays[name].dtype.kind == "f":
            odd = np.full_like(arrays[name], np.nan)
            refuses(f"{where}array {name!r} contains NaN or infinity[.]$", load, arrays | {name: odd})


PLAIN = [check for name, check in list(globals().items()) if name.startswith("check_")]
"""The checks of every hasher. The others depend on its record or its options."""


def check_seed(make, random):
    assert (fitted(make).transform(X) == make(seed=1).fit(X).transform(X)).all() != random


def check_bits_beyond_features(make, within):
    narrow = np.ascontiguousarray(X[:, :5])
    assert make(n_bits=5).fit(narrow).transform(narrow).shape == (N, 5)
    if within:
        refuses(r"n_bits must be at most 5, the number of features, got 6", make(n_bits=6).fit, narrow)
    else:
        assert make(n_bits=12).fit(narrow).transform(narrow).shape == (N, 12)


def wrong_supervision(y, kind):
    """Return wrong values of y, by the error."""
    if kind == "labels":
        one = ("belong to one class", np.zeros(N, dtype=int)), ("belong to one class", np.ones((N, 2), dtype=bool))
        return [(f"{N - 1} labels for {N} items", y[1:]), ("expected integers .* of float64", y / 2), *one]
    if kind == "affinities":
        return [(f"got shape .{N - 1},", y[1:, 1:]), ("minimum -2", -y), ("no two .* rows are related", y * 0)]
    return [(f"{N - 1} rows for {N} training rows", y[1:])]


def check_supervision(make, kind):
    """Missing or invalid supervision is refused by name; supervision that is not required changes nothing."""
    if kind is None:
        for odd in (np.arange(N), "abc", np.full(3, np.nan)):
            assert_same_model(make().fit(X, odd), fitted(make))
        return
    assert make().__sklearn_tags__().target_tags.required
    requires = f"^{type(make()).__name__} requires {kind}: "
    refuses(f"{requires}y is missing[.]", make().fit, TrainingSet(X))
    for message, wrong in wrong_supervision(supervision_of(X, kind), kind):
        refuses(f"{requires}{kind}: .*{message}", make().fit, X, wrong)


def check_divergence(make):
    """A training whose objective becomes non-finite stops and reports the step."""
    if "learning_rate" in make().get_params():
        diverging = make().set_params(learning_rate=1e308)
        refuses(r"step \d+ of \d+: the objective is nan", diverging.fit, X)


def check_record(make, record):
    check_supervision(make, record.plugin.supervision)
    check_seed(make, record.random)
    check_bits_beyond_features(make, record.bits_within_features)
    check_divergence(make)
    assert record.deviations
    assert record.summary.endswith(".")


TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
HASHERS = [pytest.param(entry.name, marks=[TORCH] * (entry.extra is not None)) for entry in registry.entries("hasher")]


@pytest.fixture(scope="module", params=[*HASHERS, "how-to/add-a-hasher", "tutorials/a-hasher-that-learns"])
def record(request, find):
    """The record of a registered hasher, or of one that a page shows."""
    return find("hasher", request.param)


@pytest.mark.parametrize("check", PLAIN, ids=lambda check: check.__name__)
def test_every_hasher(record, check):
    check(taught(record.plugin))


def test_every_hasher_agrees_with_its_record(record):
    check_record(taught(record.plugin), record)
    assert record.plugin.learned


# A correct hasher, random signs, and hashers with one fault each.


class Right(Hasher):
    learned = {"W_": ("float64", "d", "n_bits")}

    def _fit(self, training, rng):
        self.W_ = rng.normal(size=(training.X.shape[1], self.n_bits))
        return {}

    def _encode(self, X):
        return X @ self.W_ > 0


def adding(name, noise):
    """Return the right hasher, but with numbers of the shape of its outputs added to them."""
    return but(name, _encode=lambda self, X: (V := X @ self.W_) + noise(V) > 0)


def but(name, *, options=None, **methods):
    """Return the right hasher, except for some methods."""
    options = options or {}
    return type(name, (Right,), {**methods, "__annotations__": dict.fromkeys(options, float), **options})


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


def forgiving(kind):
    """Return a hasher with a kind of supervision that it does not check."""
    return but("Forgiving", supervision=kind, _check_supervision=lambda self, training: None)


def continues_the_first_fit(self, training, rng):
    before = getattr(self, "W_", None)
    Right._fit(self, training, rng)
    self.W_ = self.W_ if before is None else before + training.X[: self.n_bits].T
    return {}


def uses_up(self, training):
    self.W_ += len(vars(training))
    training.used = True


RANDOM = functools.partial(check_seed, random=True)
FIXED = functools.partial(check_seed, random=False)
WITHIN = functools.partial(check_bits_beyond_features, within=True)
BEYOND = functools.partial(check_bits_beyond_features, within=False)
UNSUPERVISED = functools.partial(check_supervision, kind=None)
CAPPED = encoding("Capped", lambda self, bits: bits[:, : min(20, self.n_features_in_)])
ROW_NUMBERS = encoding("RowNumbers", lambda self, bits: bits ^ (np.arange(len(bits)) % 2 == 1)[:, None])
JITTERS = seeing("Jitters", lambda X: X + np.random.default_rng(0).normal(size=X.shape))
WRONG = {
    check_codes: [encoding("Integers", lambda self, bits: bits.astype(int)), CAPPED],
    check_second_fit: [
        but("Unseeded", _fit=lambda self, training, rng: Right._fit(self, training, np.random.default_rng())),
        but("ContinuesTheFirstFit", _fit=continues_the_first_fit),
        but("ReturnsNothing", fit=lambda self, X: Right.fit(self, X) and None),
        fitting("Centres", lambda self, X, y: np.subtract(X, X.mean(axis=0), out=X)),
        seeing("ScalesQueries", lambda X: np.multiply(X, 2, out=X)),
    ],
    check_a_training_set_can_be_shared_by_fits: [recording("UsesUpATrainingSet", uses_up)],
    check_refuses_other_inputs_than_finite_matrices: [
        fitting("FillsHoles", lambda self, X, y: np.nan_to_num(X)),
        fitting("TakesVectors", lambda self, X, y: np.atleast_2d(X)),
        but("TakesAnyWidth", transform=lambda self, X: matrix(X) @ self.W_[: np.shape(X)[1]] > 0),
    ],
    check_refuses_wrong_parameters: [but("ChecksNothing", check=lambda self: None)],
    check_rows_are_encoded_independently: [
        but("MedianOfTheBatch", transform=lambda self, X: (V := X @ self.W_) >= np.median(V, axis=0)),
        ROW_NUMBERS,
    ],
    check_what_determines_codes: [
        recording("Unrepeatable", lambda self, training: vars(self).update(W_=np.random.default_rng().random((D, 8)))),
        adding("Noisy", lambda V: np.random.default_rng().normal(0, 9, V.shape)),
        adding("Centred", lambda V: -np.median(V, axis=0)),
        adding("Dithered", lambda V: np.random.default_rng(0).normal(0, 9, V.shape)),
    ],
    check_constant_features: [fitting("Standardises", lambda self, X, y: X / X.std(axis=0)), JITTERS],
    check_duplicate_rows: [ROW_NUMBERS, JITTERS],
    check_one_row: [
        recording("NeedsRows", lambda self, training: vars(self).update(W_=self.W_ * training.X.T.var(1, ddof=1)[0]))
    ],
    check_scikit_learns_conventions: [
        but("NoTags", __sklearn_tags__=None),
        but("Converts", __setattr__=lambda self, name, value: object.__setattr__(self, name, str(value))),
        but("IgnoresUnknown", set_params=lambda self, **new: vars(self).update(new) or self),
    ],
    check_fit_record: [recording("RecordsNumPy", lambda self, training: {"n_iter": np.int64(3)})],
    check_a_model_survives_a_file: [
        but("Rounds", to_arrays=lambda self: Right.to_arrays(self) | {"W_": self.W_.round(1)}),
        but("Declares", learned={"W_": ("float64", "n_bits", "d")}),
    ],
    check_odd_models_are_refused: [but("LoadsAnything", from_arrays=classmethod(lambda cls, arrays: cls()))],
    RANDOM: [but("Seedless", _fit=lambda self, training, rng: Right._fit(self, training, np.random.default_rng(0)))],
    FIXED: [Right],
    WITHIN: [Right, CAPPED],
    BEYOND: [CAPPED],
    UNSUPERVISED: [fitting("LooksAtLabels", lambda self, X, y: X if y is None else self.set_params(seed=9) and X)],
    check_divergence: [but("ContinuesAfterNaN", options={"learning_rate": 1.0})],
} | {functools.partial(check_supervision, kind=kind): [forgiving(kind)] for kind in ("labels", "affinities", "pairs")}


def setting(W):
    return {"_fit": lambda self, training, rng: setattr(self, "W_", W) or {}}


AS_DECLARED = "_fit, which sets the arrays of `learned`: "
MISTAKES = [
    (f"{AS_DECLARED}expected the arrays W_, got none[.]$", {"_fit": lambda self, training, rng: {}}),
    (f"{AS_DECLARED}array 'W_': expected float64 of .*, got float32 of", setting(np.zeros((D, 8), np.float32))),
    (f"{AS_DECLARED}array 'W_' contains NaN or infinity[.]$", setting(np.full((D, 8), np.nan))),
    ("_fit must not change n_bits .* 8, .* became .* 4", {"_fit": lambda self, *_: vars(self).update(n_bits=4) or {}}),
    (r"_fit must return .*`return {}`, got None[.]$", {"_fit": lambda self, training, rng: None}),
    (r"_encode: expected a bool array, shape \(20, 8\), got float32 of", {"_encode": lambda self, X: X[:, :8]}),
    (r"_encode: expected .* got bool of shape \(20, 1\)\.$", {"_encode": lambda self, X: X[:, :1] > 0}),  # not repeated
]


def name_of(case):
    """Return the name of a check, with its options, or of a hasher: the same in every process."""
    options = getattr(case, "keywords", {}).items()
    return " ".join([getattr(case, "func", case).__name__, *(f"{key}={value}" for key, value in options)])


@pytest.mark.parametrize("check", [*PLAIN, RANDOM, BEYOND, UNSUPERVISED], ids=name_of)
def test_the_right_hasher_passes(check):
    check(Right)


@pytest.mark.parametrize("kind", ["labels", "affinities", "pairs"])
def test_a_right_hasher_of_each_kind_of_supervision_passes(kind):
    check_supervision(but("Supervised", supervision=kind), kind)


@pytest.mark.parametrize(("message", "methods"), MISTAKES, ids=[message for message, _ in MISTAKES])
def test_the_base_class_reports_a_mistake_by_class_and_method(methods, message):
    with pytest.raises(ProtocolError, match=f"^Mistaken[.]{message}"):
        but("Mistaken", **methods)(n_bits=8).fit(X).transform(X[:20])


def test_a_hasher_gets_no_undeclared_supervision_and_reads_no_undeclared_array():
    cheat, y = recording("Cheat", lambda self, training: {"rows": len(training.labels)})(), np.arange(N)
    for training in ((X, y), (TrainingSet(X, y),)):
        refuses("^y is missing[.] .* `supervision` must declare it[.]$", cheat.fit, *training)
    learns = recording("", lambda self, training: vars(self).update(V_=0))._fit
    reads = but("Reads", _fit=learns, _encode=lambda self, X: X @ self.W_ > self.V_)
    refuses("^Reads[.]_encode reads 'V_', which `learned` must declare[.]$", repeatability.check_hasher, reads(), X)


@pytest.mark.parametrize(
    ("message", "attribute"),
    [
        (r"[.]supervision must be affinities, labels or pairs, got 'label'", {"supervision": "label"}),
        (" defines __init__[.] Declare options as .*`width: float = 1.5`", {"__init__": lambda self, n_bits=8: None}),
        (r"[.]width has no annotation, .* Write `width: float = 1.5`, or `_width` for", {"width": 1.5}),
        (r"[.]n_bits has no annotation, .* Write `n_bits: int = 8`", {"n_bits": 8}),
    ],
)
def test_an_attribute_that_would_have_no_effect_is_refused(attribute, message):
    refuses(f"^Odd{message}", but, "Odd", **attribute)
    assert but("Constants", WIDTH=1.5, _width=1.5)(8).get_params() == {"n_bits": 8, "seed": 0}


@pytest.mark.parametrize(("check", "wrong"), [(key, wrong) for key in WRONG for wrong in WRONG[key]], ids=name_of)
def test_a_wrong_hasher_is_caught(check, wrong):
    with pytest.raises(CAUGHT):
        check(wrong)


def test_every_check_has_a_wrong_hasher():
    rejected = {getattr(check, "func", check) for check in WRONG}
    assert rejected == {*PLAIN, check_seed, check_bits_beyond_features, check_supervision, check_divergence}

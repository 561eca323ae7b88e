import re
import sys

import numpy as np
import pytest

from protocol import checks
from protocol.checks import ProtocolError


@pytest.mark.parametrize("value", [0, True, 1.5, "1"])
def test_integer_refuses(value):
    with pytest.raises(ProtocolError, match=f"^n_bits must be an integer >= 1, got {value!r}\\.$"):
        checks.integer(value, "n_bits")


def test_integer_takes_the_minimum_and_numpy_integers():
    assert checks.integer(np.uint8(3), "cutoff", minimum=3) == 3
    assert type(checks.integer(np.int64(0), "seed", minimum=0)) is int


def test_integer_above_the_maximum_is_refused():
    assert checks.integer(4, "radius", minimum=0, maximum=4) == 4
    with pytest.raises(ProtocolError, match=r"^radius must be an integer from 0 to 4, got 5\.$"):
        checks.integer(5, "radius", minimum=0, maximum=4)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "1", False])
def test_number_refuses(value):
    assert checks.number(np.float32(0), "spread") == 0.0
    with pytest.raises(ProtocolError, match=f"^spread must be a finite number >= 0, got {value!r}\\.$"):
        checks.number(value, "spread")


@pytest.mark.parametrize("value", [0, np.nan, np.inf, True])
def test_positive_number_refuses(value):
    with pytest.raises(ProtocolError, match=f"^gamma must be a finite number > 0, got {value!r}\\.$"):
        checks.positive_number(value, "gamma")


@pytest.mark.parametrize(
    ("value", "choices", "message"),
    [
        ("itqq", ["lsh", "sh", "itq"], "hasher must be lsh, sh or itq, got 'itqq'. Did you mean 'itq'?"),
        (None, [], "Unknown hasher None: there are none."),
        ("n11", [f"n{i}" for i in range(11)], "Unknown hasher 'n11'. Did you mean 'n1'?"),
        ("x", list("0123456789a"), "Unknown hasher 'x': choose 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or a."),
    ],
)
def test_one_of_lists_few_choices_and_the_closest_one(value, choices, message):
    with pytest.raises(ProtocolError) as error:
        checks.one_of(value, choices, "hasher")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "listing", "message"),
    [
        ("key in the config file", "", "Unknown key 'x' in the config file: choose a or b."),
        ("a.h5: partition of run 0", "", "a.h5: unknown partition 'x' of run 0: choose a or b."),
        ("hasher 'ksh': option 'kernel'", "", "hasher 'ksh': option 'kernel' must be a or b, got 'x'."),
        ("hasher", "protocol list hashers", "Unknown hasher 'x': choose a or b."),
    ],
)
def test_one_of_names_the_place(name, listing, message):
    with pytest.raises(ProtocolError) as error:
        checks.one_of("x", ["a", "b"], name, listing=listing)
    assert str(error.value) == message


def test_one_of_returns_an_allowed_choice_and_names_the_command_that_lists_many():
    assert checks.one_of("itq", ["lsh", "itq"], "hasher") == "itq"
    with pytest.raises(ProtocolError) as error:
        checks.one_of("x", map(str, range(11)), "hasher", listing="protocol list hashers")
    assert str(error.value) == "Unknown hasher 'x'. `protocol list hashers` lists all 11."


def test_a_module_that_is_not_installed_is_named_with_the_extra_that_installs_it(monkeypatch):
    for module in ("pandas", "pandas.api"):
        monkeypatch.setitem(sys.modules, module, None)
    expected = rf"^pandas is not installed\. {re.escape(checks.install_hint('report'))}$"
    for module in ("pandas", "pandas.of_tests"):
        with pytest.raises(ProtocolError, match=expected):
            checks.need(module, "report")


def test_a_module_that_an_installed_one_lacks_is_another_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import absent_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="absent_module"):
        checks.need("broken_package", "report")


def test_an_import_that_failed_is_explained_where_an_extra_installs_the_module():
    explained = checks.missing_extra(ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats"))
    assert str(explained) == f"scipy is not installed. {checks.install_hint('scipy')}"
    assert checks.missing_extra(ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")) is None
    assert checks.missing_extra(ModuleNotFoundError("by hand")) is None

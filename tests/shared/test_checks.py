import re
import sys

import numpy as np
import pytest
from encoded import message_of, refuses

from protocol import checks


@pytest.mark.parametrize(
    ("check", "values", "options", "allowed"),
    [
        (checks.integer, [0, True, 1.5, "1"], {}, "an integer >= 1"),
        (checks.integer, [5], {"minimum": 0, "maximum": 4}, "an integer from 0 to 4"),
        (checks.number, [-1e-9, np.nan, np.inf, "1", False], {}, "a finite number >= 0"),
        (checks.number, [1.5], {"maximum": 1}, "a finite number from 0 to 1"),
        (checks.positive_number, [0, np.nan, np.inf, True], {}, "a finite number > 0"),
    ],
)
def test_other_values_than_the_allowed_numbers_are_refused(check, values, options, allowed):
    for value in values:
        assert message_of(check, value, "k", **options) == f"k must be {allowed}, got {value!r}."


def test_limits_are_allowed_and_numbers_of_numpy_become_those_of_python():
    assert checks.integer(np.uint8(3), "cutoff", minimum=3, maximum=3) == 3
    assert type(checks.integer(np.int64(0), "seed", minimum=0)) is int
    assert type(checks.number(np.float32(0), "spread")) is float


ELEVEN = [f"n{number}" for number in range(11)]


@pytest.mark.parametrize(
    ("value", "choices", "name", "listing", "message"),
    [
        ("itqq", ["lsh", "sh", "itq"], "hasher", "", "hasher must be lsh, sh or itq, got 'itqq'. Did you mean 'itq'?"),
        (None, [], "hasher", "", "Unknown hasher None: there are none."),
        ("n11", ELEVEN, "hasher", "", "Unknown hasher 'n11'. Did you mean 'n1'?"),
        ("x", list("0123456789a"), "hasher", "", "Unknown hasher 'x': choose 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or a."),
        ("x", ELEVEN, "hasher", "protocol list hashers", "Unknown hasher 'x'. `protocol list hashers` lists all 11."),
        ("x", ["a", "b"], "hasher", "protocol list hashers", "Unknown hasher 'x': choose a or b."),
        ("x", ["a", "b"], "key in the config file", "", "Unknown key 'x' in the config file: choose a or b."),
        ("x", ["a"], "a.h5: partition of run 0", "", "a.h5: unknown partition 'x' of run 0: choose a."),
        ("x", ["a", "b"], "hasher 'ksh': option 'k'", "", "hasher 'ksh': option 'k' must be a or b, got 'x'."),
    ],
)
def test_another_choice_is_refused_with_the_allowed_ones_or_the_closest(value, choices, name, listing, message):
    assert all(checks.one_of(choice, choices, name) == choice for choice in choices)
    assert message_of(checks.one_of, value, choices, name, listing=listing) == message


def test_a_module_that_is_not_installed_is_named_with_the_extra_that_installs_it(monkeypatch):
    for module in ("pandas", "pandas.api"):
        monkeypatch.setitem(sys.modules, module, None)
    expected = rf"^pandas is not installed\. {re.escape(checks.install_hint('report'))}$"
    for module in ("pandas", "pandas.of_tests"):
        refuses(expected, checks.need, module, "report")


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

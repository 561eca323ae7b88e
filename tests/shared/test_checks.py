import operator
import re
import sys

import numpy as np
import pytest
from encoded import message_of, refusals, refuses

import protocol
from protocol import checks


@pytest.mark.parametrize(("case", "message"), refusals("shared/refused.yaml"))
def test_refusals(case, message):
    name, arguments = case.pop("call"), case.pop("arguments", ())
    assert message_of(operator.attrgetter(name)(protocol), *arguments, **case) == message
    if name == "checks.one_of":
        assert all(checks.one_of(choice, *arguments[1:]) == choice for choice in arguments[1])


def test_limits_are_allowed_and_numbers_of_numpy_become_those_of_python():
    assert checks.integer(np.uint8(3), "cutoff", minimum=3, maximum=3) == 3
    assert type(checks.integer(np.int64(0), "seed", minimum=0)) is int
    assert type(checks.number(np.float32(0), "spread")) is float


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

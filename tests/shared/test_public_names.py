"""The names of `import protocol as hp`, which loads nothing before one of them is used."""

import subprocess
import sys

import pytest

import protocol as hp

NAMES = {"evaluate": "evaluation", "get": "registry", "load_split": "splits", "names": "registry"}


def test_the_import_only_loads_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import protocol\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - sys.stdlib_module_names), [name for name in sys.modules if name.startswith('protocol.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['protocol'] ['protocol.provenance']"


def test_the_names():
    assert hp.__all__ == ["__version__", *hp._MODULES]
    assert dir(hp) == sorted(hp.__all__)
    for name, module in NAMES.items():
        assert getattr(hp, name) is getattr(sys.modules[f"protocol.{module}"], name)
    for name in hp.__all__:
        assert getattr(hp, name) is not None


@pytest.mark.parametrize(
    ("name", "hint"), [("evalute", ""), ("recall", r"For `protocol recall`, use quantisation, or attribute for .*\. ")]
)
def test_another_name_is_an_attribute_error(name, hint):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. {hint}Public names: __version__, .*evaluate"):
        getattr(hp, name)


CODES = [[0, 1], [1, 0]]
MISTAKES = {
    "evaluate() takes 2 arguments without a name. Name others: query_labels=..., database_labels=....": (
        lambda: hp.evaluate(CODES, CODES, [0, 1], [0, 1])
    ),
    "evaluate() has no argument 'metric'. Did you mean 'metrics'?": lambda: hp.evaluate(CODES, CODES, metric="mAP"),
    "evaluate() has no argument 'n_bits'. Pass hp.Codes(..., n_bits=...).": lambda: hp.evaluate(CODES, CODES, n_bits=2),
    "evaluate() has no argument 'ranking'. Pass hp.Outputs(..., ranking=...).": lambda: hp.evaluate(
        CODES, CODES, ranking="dot"
    ),
    "ITQ() has no argument 'bits'. Did you mean 'n_bits'?": lambda: hp.get("hasher", "itq")(bits=32),
    "ITQ() takes 1 argument without a name. Name others: seed=..., n_iter=....": (
        lambda: hp.get("hasher", "itq")(32, 1)
    ),
    "'Evaluation' object has no attribute 'map'. Scores are in its attribute metrics, as in result.metrics['mAP'].": (
        lambda: hp.evaluate(CODES, CODES, query_labels=[0, 1], database_labels=[0, 1]).map
    ),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_wrong_call_is_refused_with_what_was_meant(message):
    with pytest.raises((TypeError, AttributeError)) as error:
        MISTAKES[message]()
    assert str(error.value) == message

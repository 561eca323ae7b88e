"""The reference page is generated from the declarations, and every key has a description."""

from protocol.configuration import reference
from protocol.configuration.schema import Keys, resolved


def test_every_key_is_described():
    schema = Keys.model_json_schema()

    def described(key, declared):
        forms = [resolved(form, schema) for form in (declared, *declared.get("anyOf", []))]
        return key if not any(form.get("description") for form in forms) else None

    parts = [schema, *schema["$defs"].values()]
    assert all(part["description"] for part in parts)
    missing = [key for part in parts for key, declared in part["properties"].items() if described(key, declared)]
    assert missing == []


def test_the_page_has_bounds_defaults_and_descriptions():
    page = reference.page()
    assert "| `n_bits` | a non-empty list of integers from 1 to 4096 | required | Code lengths in bits. |" in page
    assert "| `seed` | an integer &gt;= 0 | `0` |" in page
    for section in ("features.NAME", "split_sizes", "selection", "leak"):
        assert f"## `{section}`" in page


def test_the_default_experiment_is_a_shipped_config_file(root):
    from protocol.configuration import DEFAULT

    assert DEFAULT.read_text() == (root / "workflow" / "config" / "digits.yaml").read_text()

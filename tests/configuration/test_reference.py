"""The reference page is generated from the declarations, and every key has a description."""

from page_blocks import script

from protocol.configuration.schema import keys

PAGE = script("generate").pages()["configuration"]()


def test_every_key_is_described():
    def undescribed(declared):
        if isinstance(declared, dict):
            keys_below = declared.get("properties", {}).items()
            yield from (key for key, own in keys_below if "description" not in own and "oneOf" not in own)
            yield from (key for own in declared.values() for key in undescribed(own))
        elif isinstance(declared, list):
            yield from (key for own in declared for key in undescribed(own))

    assert set(undescribed(keys()["properties"])) == {"query", "database"}  # explained by `preprocessing`
    described = [line.rpartition(": ")[2] for line in PAGE.splitlines() if line.startswith("- `")]
    assert len(described) > 40
    assert all(described)


def test_the_page_has_bounds_defaults_and_descriptions():
    assert "- `n_bits` (a non-empty list of integers from 1 to 4096; required): Code lengths in bits.\n" in PAGE
    assert "- `seed` (an integer &gt;= 0; default `0`): " in PAGE
    for section in ("features.NAME", "split_sizes", "selection", "leak"):
        assert f"## `{section}`" in PAGE

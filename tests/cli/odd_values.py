"""Good inputs, and the odd values that replace their fields."""

import json

import project

ODD = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "fraction": "2.5",
    "whole": "2.0",
    "nan": "NaN",
    "huge": "1" + "0" * 400,
    "large": str(10**15),
    "long": "9" * 5000,
    "empty": '""',
    "blank": '" "',
    "control": '"\\u001b[31m\\n"',
    "zero character": '"a\\u0000b"',
    "name with a newline": '"small\\n"',
    "list": "[]",
    "lists": "[[1]]",
    "mapping": "{}",
    "mappings": '{"a": {"b": []}}',
    "deep": "[" * 2000 + "]" * 2000,
    "path": '"../../../etc/passwd"',
}
"""The values as JSON, which is also YAML."""
WORDS = {
    "empty": "",
    "blank": " ",
    "nan": "nan",
    "infinity": "inf",
    "negative": "-1",
    "fraction": "1.5",
    "text": "x",
    "huge": "1" + "0" * 400,
    "control": "\x1b[31m\n",
    "zero character": "a\0b",
}
RECORD = {
    "maker": "split standard",
    "parameters": {"sizes": {"query": 2, "train": 2}},
    "seed": 3,
    "inputs": {"labels": "d" * 64},
    "versions": {"python": "3"},
    "notes": [],
}
SCORES = {
    "name": "codes",
    "dataset": "digits",
    "ground_truth": "class_label",
    "split": "standard",
    "relevance": "class labels",
    "n_queries": 2,
    "n_database": 1697,
    "n_bits": 16,
    "ranking": "hamming",
    "convention": "protocol",
    "version": "0.1.0",
    "metrics": {"mAP": 0.7},
    "empty": {"mAP": "zero"},
    "ties": {"mAP": "expected value"},
    "ground_truth_sha256": "a" * 64,
    "per_query": {"file": "values.csv", "sha256": "b" * 64},
}
SUMMARY = {field: str(SCORES[field]) for field in ("dataset", "ground_truth", "split", "relevance")} | {
    "feature": "gist",
    "hasher": "itq",
    "n_bits": "16",
    "extension": "none",
    "metric": "mAP",
    "mean": "0.5",
    "std": "0.01",
    "n_runs": "2",
    "n_queries": "2",
    "n_database": "1697",
    "empty": "zero",
    "ties": "expected value",
    "ranking": "hamming",
}
SMALL = project.SMALL | {
    "seed": 0,
    "mirror": None,
    "extensions": ["none"],
    "metrics": ["mAP"],
    "hasher_options": {"itq": {"n_iter": 50}},
}


def places(value, above=()):
    """Yield the path of every field."""
    for key, own in value.items():
        yield (*above, key)
        if isinstance(own, dict):
            yield from places(own, (*above, key))


def replaced(value, place, odd):
    """Return JSON in which the field at a place, or all if there is none, is the text `odd`."""
    if not place:
        return odd
    key, *below = place
    fields = {name: replaced(own, below, odd) if name == key else json.dumps(own) for name, own in value.items()}
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in fields.items()) + "}"

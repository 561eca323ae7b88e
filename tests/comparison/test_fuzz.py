"""Random experiments: what is compared is what at least two of them have, in any order and however often a row stands.

The oracle compares the fields of each pair of rows.
"""

import csv

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.checks import ProtocolError
from protocol.comparison import compare
from protocol.registry import METRICS

FIXED = {"feature": "gist", "ground_truth": "class_label", "extension": "none", "extension_bits": 0, "std": 0.1}
FIXED |= {"n_runs": 2, "relevance": "class labels", "n_database": 900, "undefined": "zero", "ranking": "hamming"}
PROTOCOL = {
    "dataset": ["digits", "mnist"],
    "split": ["standard", "improved"],
    "n_queries": [90, 100],
    "n_bits": [8, 16],
}
ROW = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in PROTOCOL.items()}
    | {"metric": st.sampled_from(["mAP", "nDCG"]), "hasher": st.sampled_from(["itq", "lsh"])}
)
FILES = st.lists(
    st.lists(ROW, min_size=1, max_size=5, unique_by=lambda row: tuple(row.values())), min_size=2, max_size=3
)


def same(one, other):
    return all(one[name] == other[name] for name in (*PROTOCOL, "metric"))


def compared(folder, files, order):
    """Return the rows in a comparison of the files, in an order."""
    paths = []
    for name in order:
        paths.append(folder / str(name) / "summary.csv")
        paths[-1].parent.mkdir(exist_ok=True)
        rows = [FIXED | {"mean": 0.5, "ties": METRICS.entry(row["metric"]).ties} | row for row in files[name]]
        with open(paths[-1], "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    try:
        frame = compare(*paths, metrics="all").to_frame()
    except ProtocolError as error:
        if not str(error).startswith("nothing to compare: "):
            raise
        return []
    frame["hasher"], frame["n_queries"] = frame["method"].str.partition(", ")[0], frame["n_queries"].astype(int)
    return sorted(frame[["file", *PROTOCOL, "metric", "hasher"]].itertuples(index=False, name=None))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files=FILES, data=st.data())
def test_scores_are_compared_exactly_if_another_file_has_the_same_protocol(tmp_path_factory, files, data):
    folder = tmp_path_factory.getbasetemp() / "compared"
    folder.mkdir(exist_ok=True)
    expected = [
        (f"{name}/summary.csv", *(row[column] for column in (*PROTOCOL, "metric", "hasher")))
        for name, rows in enumerate(files)
        for row in rows
        if any(same(row, other) for number, others in enumerate(files) if number != name for other in others)
    ]
    order = range(len(files))
    assert compared(folder, files, order) == sorted(expected)
    assert compared(folder, files, data.draw(st.permutations(order))) == sorted(expected)
    twice = [rows + rows[:1] for rows in files]  # a row that stands twice is shown as it is, and compares nothing more
    assert set(compared(folder, twice, order)) == set(expected)

"""What is read for the page: tables of several places."""

from protocol.provenance.storage import replacing
from protocol.report.results import read_examples

CONFIG = {"names": {"features": {"gist": "GIST", "bow": "BoW"}, "splits": {}, "hashers": {"lsh": "LSH"}}}
HEADER = "hasher,n_bits,code,items\n"


def test_tables_carry_their_feature_and_split_and_numbers_stay_numbers_beside_a_table_without_rows(tmp_path):
    paths = []
    for feature, split, rows in (("bow", "standard", ""), ("gist", "improved", "lsh,8,3,5\n")):
        folder = tmp_path / feature / "examples" / split
        folder.mkdir(parents=True)
        with replacing(folder / "histogram.csv", checksum=True) as path:
            path.write_text(HEADER + rows)
        paths.append(folder / "histogram.csv")
    table = read_examples(paths, CONFIG)["histogram"]
    assert table.to_numpy().tolist() == [["LSH", 8, 3, 5, "GIST", "improved"]]
    assert list(table.select_dtypes("number")) == ["n_bits", "code", "items"]
    assert read_examples(paths[:1], CONFIG)["histogram"].empty

"""What is read for the page: tables of several places, and times."""

import pytest

from protocol.checks import ProtocolError
from protocol.provenance.storage import replacing
from protocol.report.results import read_examples, times

HEADER = "hasher,n_bits,code,items\n"


def test_tables_carry_their_feature_and_split_and_numbers_stay_numbers_beside_a_table_without_rows(tmp_path):
    paths = []
    for feature, split, rows in (("bow", "standard", ""), ("gist", "improved", "lsh,8,3,5\n")):
        folder = tmp_path / feature / "examples" / split
        folder.mkdir(parents=True)
        with replacing(folder / "histogram.csv", checksum=True) as path:
            path.write_text(HEADER + rows)
        paths.append(folder / "histogram.csv")
    table = read_examples(paths)["histogram"]
    assert table.to_numpy().tolist() == [["lsh", 8, 3, 5, "gist", "improved"]]
    assert list(table.select_dtypes("number")) == ["n_bits", "code", "items"]
    assert read_examples(paths[:1])["histogram"].empty


def test_a_stage_is_the_name_of_its_benchmark_file(tmp_path):
    names = ("gist/thesis/run0/lsh/model", "bow/thesis/run12/sign/model", "splits/standard/run0/split", "metrics")
    paths = [tmp_path / f"{name}.tsv" for name in names]
    for path in (*paths, tmp_path / "no input.tsv"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s\th:m:s\tmax_rss\n1.5\t0:00:01\t-\n")
    found = times(paths)
    assert found["stage"].tolist() == ["model", "model", "split", "metrics"]
    assert found["seconds"].tolist() == [1.5] * 4
    assert found["megabytes"].isna().all()
    assert times([]).empty
    assert list(times([])) == ["stage", "seconds", "megabytes"]


@pytest.mark.parametrize("content", [b"", b"s\th:m:s\n1.5\t0:00:01\n", b"s\tmax_rss\nx\t3\n", b"s\tmax_rss\n\xff\t3\n"])
def test_a_damaged_benchmark_file_is_one_clear_error(tmp_path, content):
    (tmp_path / "model.tsv").write_bytes(content)
    with pytest.raises(ProtocolError, match=r"model\.tsv: this Snakemake benchmark file can't be read: .*\.") as error:
        times([tmp_path / "model.tsv"])
    assert "\n" not in str(error.value)

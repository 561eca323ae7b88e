"""What is read for the page: tables of several places, and times."""

from protocol.report.reading import displayed, times

HEADER = "hasher,n_bits,code,items\n"


def test_tables_carry_their_feature_and_split_and_numbers_stay_numbers_beside_a_table_without_rows(tmp_path):
    paths = []
    for feature, split, rows in (
        ("bow", "standard", ""),
        ("gist", "improved", "lsh,8,3,5\n"),
        ("gist", "standard", ""),
    ):
        folder = tmp_path / feature / split / "display"
        folder.mkdir(parents=True)
        (folder / "histogram.csv").write_text(HEADER + rows)
        paths.append(folder / "histogram.csv")
    table = displayed(paths)["histogram"]
    assert table.to_numpy().tolist() == [["lsh", 8, 3, 5, "gist", "improved"]]
    assert list(table.select_dtypes("number")) == ["n_bits", "code", "items"]
    assert displayed(paths[:1])["histogram"].empty


def test_a_stage_is_what_a_path_says_besides_its_cell(tmp_path):
    setting = {"features": {"gist": {}, "bow": {"hashers": ["sign"]}}, "splits": ["standard"], "hashers": ["lsh"]}
    for name in ("gist/standard/run0/lsh/codes", "bow/standard/run12/sign/codes", "splits/standard/run0", "collect"):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("s\th:m:s\tmax_rss\n1.5\t0:00:01\t-\n")
    found = times(tmp_path, setting)
    assert sorted(found["stage"]) == ["codes", "codes", "collect", "splits"]
    assert found["seconds"].tolist() == [1.5] * 4
    assert found["megabytes"].isna().all()
    assert times(tmp_path / "none", setting).empty

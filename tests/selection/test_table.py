import itertools

from protocol.provenance import storage
from protocol.selection import COLUMNS, write_table


def selection(path, run, *, hasher="itq", points=({"n_iter": 5}, {"n_iter": 50}), chosen=1):
    cell = {"dataset": "digits", "feature": "gist", "draw": "thesis", "run": run, "hasher": hasher}
    provenance = storage.provenance(
        "selection",
        parameters=cell | {"ground_truth": "class_label", "metric": "mAP"},
        inputs={},
        points=list(points),
        default={"n_iter": 50},
        chosen=dict.fromkeys((8, 16), points[chosen]),
    )
    scores = {8: [1 / 3, float("nan")], 16: [0.25, 0.5]}
    storage.write(path, {f"{n_bits}/scores": of_length for n_bits, of_length in scores.items()}, provenance)
    return path


def test_one_row_for_each_point_in_the_order_of_combinations_and_grid(tmp_path):
    files = [selection(tmp_path / f"{run}.h5", run) for run in (10, 2)]
    write_table(tmp_path / "table.csv", files)
    assert (tmp_path / "table.csv").read_text() == ",".join(COLUMNS) + "\n" + "".join(
        f"digits,gist,class_label,thesis,{run},itq,{row}\n"
        for run in (2, 10)
        for row in (
            "8,mAP,n_iter=5,False,False,0.333333333",
            "8,mAP,n_iter=50,True,True,nan",
            "16,mAP,n_iter=5,False,False,0.25",
            "16,mAP,n_iter=50,True,True,0.5",
        )
    )


def test_points_stay_in_the_order_of_the_grid(tmp_path):
    write_table(tmp_path / "t.csv", [selection(tmp_path / "a.h5", 0, points=[{"n_iter": 50}, {"n_iter": 5}], chosen=1)])
    rows = [line.split(",")[6:11] for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
    assert rows[:2] == [["8", "mAP", "n_iter=50", "True", "False"], ["8", "mAP", "n_iter=5", "False", "True"]]


def test_the_order_of_the_files_does_not_matter(tmp_path):
    files = [selection(tmp_path / f"{hasher}{run}.h5", run, hasher=hasher) for hasher in "ba" for run in (0, 1)]
    tables = set()
    for order in itertools.permutations(files):
        write_table(tmp_path / "t.csv", order)
        tables.add((tmp_path / "t.csv").read_bytes())
    assert len(tables) == 1

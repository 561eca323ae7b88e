"""Digests of the seeds, the options and the code with which a result and everything before it was made."""

import pytest

from protocol.provenance.origins import holders, origin

PARAMETERS = {"model_seeds": {8: 1}, "options": {"n_iter": 5}, "code": "a", "states": [1, 2]}


def changed(parameters, before=PARAMETERS, inputs=((), ())):
    first, second = (origin(*pair) for pair in zip((before, parameters), inputs, strict=True))
    return [kind for kind in first if first[kind] != second[kind]]


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        ({}, []),
        ({"states": [3, 4]}, []),  # where a file of the user is
        ({"model_seeds": {8: 2}}, ["seeds"]),
        ({"options": {"n_iter": 6}}, ["options"]),
        ({"code": "b"}, ["code"]),
    ],
)
def test_each_kind_of_parameter_has_its_digest_also_in_what_is_made_from_it(edit, kinds):
    assert changed(PARAMETERS | edit) == kinds
    inputs = [[origin(PARAMETERS, [])], [origin(PARAMETERS | edit, [])]]
    assert changed({"metric": "mAP"}, {"metric": "mAP"}, inputs) == kinds


def test_inputs_without_an_origin_and_their_order_do_not_count():
    one, other = origin({"seed": 0}, []), origin({"seed": 1}, [])
    assert origin({}, [one, None, other]) == origin({}, [other, one])


def test_results_of_an_experiment_are_hdf5_files_and_files_with_a_checksum():
    folder = "store/results/digits"
    files = [f"{folder}/a.h5", f"{folder}/b.csv", f"{folder}/b.csv.sha256", f"{folder}/c.tsv", "results/datasets/d.h5"]
    assert holders(files, "digits") == {files[0]: files[0], files[1]: files[2]}
    assert holders(files, "other") == {}

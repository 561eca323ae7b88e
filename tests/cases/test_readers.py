"""Forms of files that users have: items in columns, PyTorch files, folders with files that are not images."""

import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import io as scipy_io

import protocol as hp
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.inputs.arrays import read_array


@pytest.mark.case("10-items-in-columns")
@pytest.mark.usefixtures("case")
def test_an_apostrophe_transposes_items_in_columns():
    codes, labels = scipy_io.loadmat("codes.mat"), scipy_io.loadmat("labels.mat")
    expected = hp.evaluate(codes["Bq"].T, codes["Bd"].T, query_labels=labels["Lq"].T, database_labels=labels["Ld"].T)
    labels = {"query_labels": "labels.mat:Lq'", "database_labels": "labels.mat:Ld'"}
    result = hp.evaluate("codes.mat:Bq'", "codes.mat:Bd'", **labels)
    assert result.metrics == expected.metrics


def conversion(path):
    """Return the Python code in the message for a PyTorch file, and the message."""
    with pytest.raises(ProtocolError) as error:
        read_array(path)
    words = shlex.split(re.search(r"Convert it: (.*)", str(error.value))[1])
    assert words[:2] == ["python", "-c"]
    assert len(words) == 3
    return words[2], str(error.value)


class Tensor(np.ndarray):
    """The part of a tensor that the conversion calls."""

    def detach(self):
        return self

    def numpy(self):
        return np.asarray(self)


@pytest.mark.case("18-torch-files")
@pytest.mark.parametrize(("name", "written"), [("codes.pt", "codes.npy"), ("both.pth:codes", "both_codes.npy")])
def test_the_message_for_a_pytorch_file_converts_it(case, monkeypatch, name, written):
    codes = np.arange(24.0).reshape(6, 4)

    def load(file, *, map_location, weights_only):
        assert (file, map_location, weights_only) == (name.removesuffix(":codes"), "cpu", True)
        return codes.view(Tensor) if name == "codes.pt" else {"codes": codes.view(Tensor), "labels": None}

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(load=load))
    code, message = conversion(name)
    assert ("If it contains several tensors, name one as codes.pt:KEY." in message) == (name == "codes.pt")
    exec(code, {})
    np.testing.assert_array_equal(read_array(written), codes)


BAD = (
    "photos: 3 images can't be used: the file is empty (1: empty.jpg); the image is float32, expected 8 or 16 bits (1: "
    "float32.tif); GIF files are not supported (1: still.gif). "
)
CONFIG = Path(__file__).parents[2] / "workflow" / "config" / "image_folder.yaml"


@pytest.mark.case("19-images")
@pytest.mark.parametrize(
    "command",
    [
        "find-duplicates --query photos",
        "init --images photos",
        f"check {CONFIG} --config 'dataset_options={{folder: .}}'",
    ],
    ids=["find-duplicates", "init", "check"],
)
def test_all_files_that_are_not_images_are_in_one_message(case, capsys, command):
    for number in range(400):  # as many as the split needs
        Path("photos", f"other{number}.png").symlink_to("grey.png")
    assert main(shlex.split(command)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"protocol: {CONFIG}, line 5: {BAD}" if "check" in command else f"protocol: {BAD}")
    assert error.count("\n") == 1

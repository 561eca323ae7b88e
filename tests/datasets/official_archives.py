"""Archives in the official layouts, and refusals; damaged archives are in tests/datasets/test_archives.py."""

import io
import tarfile
import zipfile

import numpy as np
from encoded import message_of, yaml_of

from protocol.datasets import nuswide

REFUSED = yaml_of("datasets/refused.yaml")
"""By dataset, what is refused, and a part of the message."""


def write_tar(path, contents):
    """Write a compressed archive of files, by name, and return its path."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def write_nuswide(folder, labels, words, tags, /, **changed):
    """Write the files of NUS-WIDE for an array of each kind, with other texts where given, and return their paths."""
    photos = [f"{7_000_000 + 13 * row}" for row in range(len(labels))]
    tag_list = [f"tag{n}" for n in range(len(tags.T))]
    concepts = {f"concept{n:02d}": "".join(f"{int(value)}\n" for value in own) for n, own in enumerate(labels.T)}
    of_photos = [[tag_list[n] for n in np.flatnonzero(own)] for own in tags]
    texts = {
        "images": "".join(f"class{row % 3}\\{row:04d}_{photo}.jpg\r\n" for row, photo in enumerate(photos)),
        "names": "".join(f"{name}\n" for name in concepts),
        "tags": "".join(f"{photo}      {' '.join(own)} other \n" for photo, own in zip(photos, of_photos, strict=True)),
        "words": "".join(" ".join(map(str, row)) + " \n" for row in words.tolist()),
    }
    texts |= concepts | changed
    truth = {f"Groundtruth/AllLabels/Labels_{name}.txt": texts[name] for name in concepts if texts[name] is not None}
    zipped(folder / nuswide.LABELS, truth | {"Groundtruth/TrainTestLabels/Labels_concept00_Train.txt": "1\n"})
    zipped(folder / nuswide.IMAGES, {"ImageList/Imagelist.txt": texts["images"], "ImageList/TestImagelist.txt": "x"})
    zipped(folder / nuswide.CONCEPTS, {"ConceptsList/Concepts81.txt": texts["names"]})
    tag_files = {"NUS_WID_Tags/All_Tags.txt": texts["tags"], "Final_Tag_List.txt": "\n".join(tag_list)}
    zipped(folder / nuswide.TAGS, tag_files)
    (folder / nuswide.WORDS).write_text(texts["words"])
    names = (nuswide.LABELS, nuswide.IMAGES, nuswide.CONCEPTS, nuswide.TAGS, nuswide.WORDS)
    return {name: folder / name for name in names}


def refused(message, call, *arguments, **options):
    """Assert that a call raises ProtocolError with a text in its message, which is one line."""
    text = message_of(call, *arguments, **options)
    assert message in text, text

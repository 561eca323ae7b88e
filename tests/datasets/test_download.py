import functools
import hashlib
import http.server
import os
import threading

import pytest

from protocol.checks import ProtocolError
from protocol.datasets import fetch, provenance_note
from protocol.downloads import File

CONTENT = b"the official bytes" * 1000
OTHER = b"a mirror's own bytes" * 1000


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server(tmp_path):
    """A local web server over a folder; gives its address and the folder."""
    folder = tmp_path / "www"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", folder
    running.shutdown()
    thread.join()
    running.server_close()


def file(*urls):
    return File(name="data.bin", urls=urls, sha256=sha256(CONTENT), size=len(CONTENT))


def test_official_source(server, tmp_path):
    address, folder = server
    (folder / "data.bin").write_bytes(CONTENT)
    fetched = fetch(file(f"{address}/missing.bin", f"{address}/data.bin"), tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder" / "data.bin").read_bytes() == CONTENT
    assert fetched == {"file": "data.bin", "source": f"{address}/data.bin", "sha256": sha256(CONTENT), "official": True}
    assert provenance_note(fetched) is None


def test_mirror_folder_comes_first_and_is_noted_where_it_is_not_official(tmp_path):
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "data.bin").write_bytes(OTHER)
    fetched = fetch(file(), tmp_path / "out", mirror=str(tmp_path / "mirror"), sha256=sha256(OTHER))
    assert (tmp_path / "out" / "data.bin").read_bytes() == OTHER
    assert fetched["official"] is False
    assert "data.bin is not the official file" in provenance_note(fetched)


def test_mirror_url_with_the_official_bytes_is_official(server, tmp_path):
    address, folder = server
    (folder / "data.bin").write_bytes(CONTENT)
    assert fetch(file(), tmp_path / "out", mirror=address)["official"] is True


def test_a_mirror_without_the_file_gives_way_to_the_official_source(server, tmp_path):
    address, folder = server
    (folder / "data.bin").write_bytes(CONTENT)
    fetched = fetch(file(f"{address}/data.bin"), tmp_path / "out", mirror=str(tmp_path / "nowhere"))
    assert fetched["source"] == f"{address}/data.bin"


def test_a_wrong_mirror_is_an_error_with_both_checksums_and_no_file(tmp_path):
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "data.bin").write_bytes(OTHER)
    message = f"wrong checksum: wanted sha256 {sha256(CONTENT)}, came {sha256(OTHER)}"
    with pytest.raises(ProtocolError, match=message):
        fetch(file(), tmp_path / "out", mirror=str(tmp_path / "mirror"))
    assert os.listdir(tmp_path / "out") == []


def test_a_truncated_download_is_an_error_and_no_file(server, tmp_path):
    address, folder = server
    (folder / "data.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(ProtocolError, match="wrong checksum"):
        fetch(file(f"{address}/data.bin"), tmp_path / "out")
    assert os.listdir(tmp_path / "out") == []


def test_no_source_says_what_was_tried_and_what_to_do(server, tmp_path):
    address, _ = server
    with pytest.raises(
        ProtocolError, match=r"no source gave the file; tried .*404.*put it in a folder and name"
    ) as caught:
        fetch(file(f"{address}/data.bin", "http://127.0.0.1:9/data.bin"), tmp_path / "out")
    assert "127.0.0.1:9" in str(caught.value).replace("host='127.0.0.1', port=9", "127.0.0.1:9")
    assert os.listdir(tmp_path / "out") == []


def test_other_bytes_than_the_official_ones_are_never_taken_from_the_official_source(server, tmp_path):
    address, folder = server
    (folder / "data.bin").write_bytes(CONTENT)
    with pytest.raises(
        ProtocolError, match=f"no source gave the file; tried none, because no mirror .*{sha256(OTHER)}"
    ):
        fetch(file(f"{address}/data.bin"), tmp_path / "out", sha256=sha256(OTHER))

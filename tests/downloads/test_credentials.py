"""Credentials in the address of a mirror must not appear in any file or message."""

import logging

import pytest
from loopback import CONTENT, OTHER, Answer

from protocol import configuration
from protocol.checks import ProtocolError
from protocol.cli import main
from protocol.downloads import Place, fetch, redacted

SECRET = "s3cr3t-t0ken"  # noqa: S105 - of no server
ADDRESSES = ("http://me:{secret}@{host}/files", "http://{secret}@{host}/files", "http://{host}/files?token={secret}&x=")


def files_with(secret, folder):
    return [path.name for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def path_on(server, address, key="set/data.bin"):
    """Return the path that is requested from an address of `ADDRESSES`."""
    return f"/files?token={SECRET}&x=/{key}" if "?" in address else f"/files/{key}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_download_from_a_mirror_writes_no_credentials(server, official, tmp_path, retry_policy, address, caplog):
    caplog.set_level(logging.DEBUG)
    mirror = address.format(secret=SECRET, host=server.address.removeprefix("http://"))
    path, place = path_on(server, address), Place("set", tmp_path / "downloads", mirror=mirror)
    for answers in ([Answer(drop=50_000)] * 9, [Answer(content=OTHER)], [Answer(status=404)]):
        server.answers[path] = answers
        with pytest.raises(ProtocolError) as error:
            fetch(official(), place, retry_policy=retry_policy)
        assert SECRET not in str(error.value)
        assert "***" in str(error.value)
        assert files_with(SECRET, tmp_path) == []
    server.answers[path] = [Answer(drop=50_000), Answer()]
    file = official(sha256=None, size=None)
    for _ in range(2):
        provenance = fetch(file, place, retry_policy=retry_policy)
        assert provenance["source"] == redacted(f"{mirror}/set/data.bin")
        assert SECRET not in str(provenance) + caplog.text
    assert place.path(file).read_bytes() == CONTENT
    assert files_with(SECRET, tmp_path) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/files", "https://example.org/files"),
        ("https://example.org:8080/@a/files", "https://example.org:8080/@a/files"),
        ("https://me:secret@example.org/a@b", "https://***@example.org/a@b"),
        ("https://me:sec@ret@example.org/a", "https://***@example.org/a"),
        ("https://me:sec/ret@example.org/a", "https://***@example.org/a"),
        ("https://me:sec?ret@example.org/a", "https://***@example.org/a"),
        ("https://example.org/a?token=secret#secret", "https://example.org/a?***"),
        ("https://example.org/a#secret", "https://example.org/a#***"),
        ("ftp://me@example.org/a", "ftp://***@example.org/a"),
        ("https:/me:secret@example.org/a", "***@example.org/a"),
        ("me:secret@example.org/a", "***@example.org/a"),
        ("folder@home/of?me", "folder@home/of?me"),
    ],
)
def test_redacted(url, shown):
    assert redacted(url) == shown
    assert redacted(shown) == shown


@pytest.mark.parametrize(
    "mirror", [f"http://me:{SECRET}/x@127.0.0.1:1/files", f"http://me:{SECRET}@no-such-host.invalid", f"x://{SECRET}@h"]
)
def test_an_address_that_can_not_be_used_is_refused_without_its_credentials(official, tmp_path, retry_policy, mirror):
    place = Place("set", tmp_path / "downloads", mirror=mirror)
    with pytest.raises(ProtocolError) as error:
        fetch(official(), place, retry_policy=retry_policy)
    assert SECRET not in str(error.value)
    assert files_with(SECRET, tmp_path) == []


@pytest.mark.parametrize(
    ("mirror", "problem"),
    [
        (
            f"http:/me:{SECRET}@host/files",
            "mirror: '***@host/files' is neither a URL nor an existing folder (looked in ",
        ),
        (f"[https://me:{SECRET}@host]", "mirror must be a folder or a URL, got a list."),
        (f"{{https://me:{SECRET}@host: 1}}", "mirror must be a folder or a URL, got a dict."),
    ],
)
def test_a_wrong_mirror_in_a_configuration_is_refused_without_its_credentials(capsys, mirror, problem):
    assert main(["check", "--config", f"mirror={mirror}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"protocol: --config mirror: {problem}")
    assert SECRET not in err


def test_an_experiment_with_a_mirror_is_loaded():
    mirror = f"https://me:{SECRET}@example.org/files"
    assert configuration.load({"mirror": mirror}, from_file=False).config["mirror"] == mirror

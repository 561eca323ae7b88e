"""Transfer one address into one partial file with libcurl, which handles http(s), ftp, file, proxies and redirects.

The partial file remains when a transfer is interrupted. Its origin (the address, and the server's identification of
this version of the file) is recorded next to it, and only a response of the same origin is ever appended.
"""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from protocol.checks import ProtocolError
from protocol.downloads._credentials import without_credentials

if TYPE_CHECKING:
    import pycurl

_BLOCK_BYTES = 512 << 10
_REDIRECTS = 10
_HTTP2_STREAM_BROKEN = 92  # libcurl's CURLE_HTTP2_STREAM, for which pycurl has no name
_FTP_MODIFIED_DIGITS = 14  # YYYYMMDDhhmmss


class RefusedError(Exception):
    """The source does not deliver the file, and a retry would not help; the next source may deliver it."""


class _BrokenError(Exception):
    """The transfer was interrupted; a retry may deliver the rest."""

    def __init__(self, message: str, *, pause: float = 0) -> None:
        super().__init__(message)
        self.pause = pause  # seconds, from the server's Retry-After


@dataclass(frozen=True)
class RetryPolicy:
    """Timeouts, in seconds, the number of retries for each source, and bounds for servers that never finish.

    Parameters
    ----------
    attempts : int
        Number of consecutive requests without progress (of ``rate * stall`` bytes) after which a source is abandoned.
    connect, stall : int
        Seconds without a connection, and seconds without data, after which a request counts as interrupted.
    pause, longest_pause : float
        Seconds before the second request, doubled before each further one. A server's Retry-After header is
        respected. No pause exceeds `longest_pause`.
    rate : int
        Mean number of bytes per second below which a source is abandoned, once a request has taken `stall` seconds.
    most_bytes : int
        Bound on a response if neither the size of the file nor that of the response is known.
    sleep : callable
        Function that waits a number of seconds.
    """

    attempts: int = 4
    connect: int = 30
    stall: int = 60
    pause: float = 1.0
    longest_pause: float = 30.0
    rate: int = 1000
    most_bytes: int = 64 << 30
    sleep: Callable[[float], None] = time.sleep


def origin_path(part: Path) -> Path:
    """Return the path of the record of a partial file's origin."""
    return part.with_name(f"{part.name}.json")


def clear(part: IO[bytes]) -> None:
    """Discard the bytes downloaded so far."""
    part.truncate(0)
    origin_path(Path(part.name)).unlink(missing_ok=True)


def transfer(
    url: str, part: IO[bytes], *, origin: str, checked: bool, size: int | None, retry_policy: RetryPolicy
) -> bool:
    """Download `url` into `part`, and resume if `part` has content of the same origin.

    Parameters
    ----------
    url : str
    part : binary file
        Open for reading and writing.
    origin : str
        The address without credentials, which is recorded next to the part.
    checked : bool
        Whether the caller verifies a checksum. If not, bytes are appended only if the server confirms that they are of
        the same version, and a response whose end can't be distinguished from a lost connection is refused.
    size : int or None
        The size of the file in bytes, if known.
    retry_policy : RetryPolicy

    Returns
    -------
    bool
        Whether bytes of several responses were joined.

    Raises
    ------
    RefusedError
        If the source does not deliver the file.
    ProtocolError
        If there is not enough disk space; the partial file is not deleted.
    """
    failures, furthest = 0, 0
    while True:
        response = _Response(url, part, origin=origin, checked=checked, size=size, retry_policy=retry_policy)
        try:
            response.receive()
        except _BrokenError as error:
            n_bytes = os.fstat(part.fileno()).st_size
            if n_bytes > furthest + retry_policy.rate * retry_policy.stall:
                failures, furthest = 0, n_bytes
            failures += 1
            if failures >= retry_policy.attempts:
                raise RefusedError(f"{error} (the last of {failures} attempts, at {n_bytes:,} bytes)") from error
            pause = max(error.pause, retry_policy.pause * 2 ** (failures - 1))
            retry_policy.sleep(min(pause, retry_policy.longest_pause))
        else:
            return response.offset > 0


class _Response:
    """The response to one request, written to the partial file while it arrives."""

    def __init__(
        self, url: str, part: IO[bytes], *, origin: str, checked: bool, size: int | None, retry_policy: RetryPolicy
    ) -> None:
        self._url, self._name, self._part = url, origin, part
        self._checked, self._size, self._policy = checked, size, retry_policy
        self._most = 0  # bytes, including those of earlier responses
        self._fields: dict[str, str] = {}
        self._status: int | None = None  # of HTTP only; the other protocols have no status
        self._bar: Any = None
        self._error: Exception | None = None
        self._origin = self._stored_origin()
        self.offset = os.fstat(part.fileno()).st_size if self._origin else 0

    def _stored_origin(self) -> dict[str, Any]:
        """Return the origin of the partial file; {} if the download can't be resumed."""
        try:
            origin = json.loads(origin_path(Path(self._part.name)).read_text())
        except (OSError, ValueError):
            return {}
        version = origin["etag"] or origin["modified"]
        return origin if origin["url"] == self._name and (version or self._checked) else {}

    def receive(self) -> None:
        """Request the missing bytes, and append them."""
        import pycurl

        if self.offset and self.offset == self._origin["size"]:
            return
        with contextlib.closing(pycurl.Curl()) as curl:
            self._prepare(curl)
            try:
                curl.perform()
                if self._bar is None:  # a response without a body
                    self._begin()
            except pycurl.error as error:
                raise self._error or self._failure(curl, *error.args) from error
            finally:
                self._part.flush()
                if self._bar is not None:
                    self._bar.close()

    def _prepare(self, curl: "pycurl.Curl") -> None:
        import pycurl

        retry_policy, began = self._policy, time.monotonic()
        options = {
            pycurl.URL: self._url,
            pycurl.FOLLOWLOCATION: True,  # to http and ftp only, by libcurl's default
            pycurl.MAXREDIRS: _REDIRECTS,
            pycurl.FAILONERROR: True,
            pycurl.OPT_FILETIME: True,  # requests the modification time from FTP servers
            pycurl.USERAGENT: "hashing-protocol",
            pycurl.NOSIGNAL: True,
            pycurl.CONNECTTIMEOUT: retry_policy.connect,
            pycurl.FTP_RESPONSE_TIMEOUT: retry_policy.stall,
            pycurl.LOW_SPEED_LIMIT: 1,
            pycurl.LOW_SPEED_TIME: retry_policy.stall,
            pycurl.BUFFERSIZE: _BLOCK_BYTES,
            pycurl.HEADERFUNCTION: self._header,
            pycurl.WRITEFUNCTION: self._write,
            pycurl.NOPROGRESS: False,
            # Called every second, so that Ctrl-C interrupts even while no data arrive.
            pycurl.XFERINFOFUNCTION: lambda _, n_bytes, *__: self._is_too_slow(n_bytes, time.monotonic() - began),
        }
        if self.offset:
            options[pycurl.RANGE] = f"{self.offset}-"
            if condition := self._origin["etag"] or self._origin["modified"]:
                options[pycurl.HTTPHEADER] = [f"If-Range: {condition}"]
        for variable in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
            if bundle := os.environ.get(variable):
                options[pycurl.CAINFO] = bundle
                break
        for option, value in options.items():
            curl.setopt(option, value)

    def _is_too_slow(self, n_bytes: int, seconds: float) -> bool:
        """Return whether the transfer ends because the mean rate of its first `n_bytes` is too low."""
        if seconds < self._policy.stall or n_bytes >= self._policy.rate * seconds or not n_bytes:
            return False  # libcurl itself ends a transfer without any data
        self._error = RefusedError(
            f"only {n_bytes:,} bytes in {seconds:.0f} seconds, less than {self._policy.rate:,} bytes per second"
        )
        return True

    def _header(self, line: bytes) -> None:
        """Store a header line; those of a redirect are dropped when the next response begins."""
        text = line.decode("latin-1").strip()
        if text.startswith("HTTP/"):
            self._fields, self._status = {"version": text.split()[0]}, int(text.split()[1])
        elif found := re.fullmatch(r"213 (\d+)", text):  # the FTP reply to SIZE and MDTM
            modified = len(found[1]) == _FTP_MODIFIED_DIGITS
            self._fields["last-modified" if modified else "content-length"] = found[1]
        else:
            name, _, value = text.partition(":")
            self._fields[name.lower()] = value.strip()

    def _begin(self) -> None:
        """Determine, before the first byte is written, at which offset the body is written."""
        fields = self._fields
        sent = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", fields.get("content-range", ""))
        if self._status is None:  # ftp and file start at the requested offset and report the size of the complete file
            start, length = self.offset, fields.get("content-length")
        elif self._status == 206 and sent and int(sent[1]) == self.offset:
            start, length = self.offset, sent[2]
        elif self._status == 200:
            start, length = 0, fields.get("content-length")
        elif self._status == 206:
            clear(self._part)
            raise _BrokenError(f"expected the range from byte {self.offset}, got {fields.get('content-range')!r}")
        else:
            raise RefusedError(f"HTTP status {self._status}")
        total = int(length) if length and length.isdecimal() else None
        etag = fields.get("etag", "")
        origin = {
            "url": self._name,
            "etag": etag if etag.startswith('"') else "",  # a weak ETag does not guarantee identical bytes
            "modified": fields.get("last-modified", ""),
            "size": total,
        }
        if start and any(origin[key] and origin[key] != self._origin[key] for key in ("etag", "modified", "size")):
            clear(self._part)
            raise _BrokenError("the file changed on the server")
        self._check_end(total)
        self._most = next(n_bytes for n_bytes in (self._size, total, self._policy.most_bytes) if n_bytes is not None)
        if total is not None and total > self._most:
            self._refuse_excess()
        self._check_space(total or self._size or 0)
        if not start:
            clear(self._part)
            origin_path(Path(self._part.name)).write_text(json.dumps(origin))
        self._part.seek(start)
        self.offset = start
        self._bar = self._progress(start, total or self._size)

    def _check_end(self, total: int | None) -> None:
        """Refuse a response that could be truncated unnoticed."""
        ends_with_connection = (
            self._fields.get("version", "").startswith("HTTP/1") and "transfer-encoding" not in self._fields
        )
        if ends_with_connection and total is None and self._size is None and not self._checked:
            raise RefusedError(
                "the server does not send the size of the file, and neither its size nor its checksum is known, so a "
                "truncated file would go unnoticed"
            )

    def _refuse_excess(self) -> NoReturn:
        """Refuse a body that is too long; after a join, the file is requested once more from its start."""
        clear(self._part)
        error = _BrokenError if self.offset else RefusedError
        raise error(f"the server sends more than {self._most:,} bytes")

    def _check_space(self, total: int) -> None:
        folder = Path(self._part.name).parent
        needed = total - os.fstat(self._part.fileno()).st_size  # existing bytes are either kept or overwritten
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise ProtocolError(
                f"{self._part.name}: not enough disk space in {folder}: expected {needed:,} free bytes, got {free:,}. "
                "Free some space and run again."
            )

    def _progress(self, start: int, total: int | None) -> Any:
        """Return a progress bar with size and speed, which is shown on terminals only."""
        import tqdm

        name = Path(self._part.name).stem
        return tqdm.tqdm(desc=name, initial=start, total=total, unit="B", unit_scale=True, disable=None)

    def _write(self, block: bytes) -> int:
        """Append a block and return its length, or 0 after an error, which ends the transfer."""
        try:
            if self._bar is None:
                self._begin()
            if self._part.tell() + len(block) > self._most:
                self._refuse_excess()
            self._part.write(block)
            self._bar.update(len(block))
        except Exception as error:  # noqa: BLE001 - libcurl does not propagate it; receive raises it
            self._error = error
            return 0
        return len(block)

    def _failure(self, curl: "pycurl.Curl", code: int, text: str) -> Exception:
        """Return the exception for an error of libcurl: _BrokenError if a retry may help."""
        import pycurl

        status, text = curl.getinfo(pycurl.RESPONSE_CODE), without_credentials(text, self._url)
        if code == pycurl.E_HTTP_RETURNED_ERROR:
            text = f"HTTP status {status}"
        if status == 416 or code in (pycurl.E_BAD_DOWNLOAD_RESUME, pycurl.E_FTP_COULDNT_USE_REST):
            clear(self._part)  # the partial file is not a prefix of this file
            return _BrokenError(text)
        broken = code in (
            pycurl.E_PARTIAL_FILE,
            pycurl.E_GOT_NOTHING,
            pycurl.E_OPERATION_TIMEDOUT,
            pycurl.E_SEND_ERROR,
            pycurl.E_RECV_ERROR,
            pycurl.E_HTTP2,
            _HTTP2_STREAM_BROKEN,
        )
        if broken or (code == pycurl.E_HTTP_RETURNED_ERROR and (status >= 500 or status in (408, 429))):
            return _BrokenError(text, pause=curl.getinfo(pycurl.RETRY_AFTER))
        return RefusedError(text)

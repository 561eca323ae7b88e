"""Transfer one address (http, https, ftp or file) into one partial file; over HTTP, an interrupted transfer resumes.

The partial file remains when a transfer is interrupted. Its origin (the address, and the server's identification of
this version of the file) is recorded next to it, and only a response of the same origin is ever appended.

pooch was considered. It has neither several sources for a file, nor resuming, nor a bound on the size or the mean rate
of a response, nor a wait for another process, and it logs addresses with their credentials. All of these would need a
downloader of our own, about 150 of the 330 lines of this package; pooch would replace the comparison of the checksum
and the renaming, about 10 lines. Libcurl would also resume FTP, but
needs a compiled package.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from protocol.checks import ProtocolError
from protocol.downloads._credentials import user_of, without_credentials

_BLOCK_BYTES = 512 << 10
_BUNDLES = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


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
    stall : int
        Seconds without a connection or without data after which a request counts as interrupted.
    pause : float
        Seconds before the second request, doubled before each further one. A server's Retry-After header is respected.
    longest_pause : float
        Seconds that no pause exceeds.
    rate : int
        Mean number of bytes per second below which a source is abandoned, once a request has taken `stall` seconds.
    most_bytes : int
        Bound on a response if neither the size of the file nor that of the response is known.
    sleep : callable
        Function that waits a number of seconds.
    """

    attempts: int = 4
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


@dataclass(frozen=True)
class Transfer:
    """The transfer of an address into a partial file, in one or more requests.

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
    policy : RetryPolicy
    """

    url: str
    part: IO[bytes]
    origin: str
    checked: bool
    size: int | None
    policy: RetryPolicy

    def run(self) -> bool:
        """Download the file, and return whether bytes of several responses were joined.

        Raises
        ------
        RefusedError
            If the source does not deliver the file.
        ProtocolError
            If there is not enough disk space; the partial file is not deleted.
        """
        failures = furthest = 0
        while True:
            try:
                return self._request()
            except _BrokenError as error:
                n_bytes = os.fstat(self.part.fileno()).st_size
                if n_bytes > furthest + self.policy.rate * self.policy.stall:
                    failures, furthest = 0, n_bytes
                failures += 1
                if failures >= self.policy.attempts:
                    raise RefusedError(f"{error} (the last of {failures} attempts, at {n_bytes:,} bytes)") from error
                pause = max(error.pause, self.policy.pause * 2 ** (failures - 1))
                self.policy.sleep(min(pause, self.policy.longest_pause))

    def _request(self) -> bool:
        """Request the missing bytes, and append them."""
        stored = self._stored_origin()
        offset = os.fstat(self.part.fileno()).st_size if stored else 0
        if offset and offset == stored["size"]:
            return True
        headers = {"User-Agent": "hashing-protocol"}
        if offset and self.url.startswith("http"):
            headers["Range"] = f"bytes={offset}-"
            if version := stored["etag"] or stored["modified"]:
                headers["If-Range"] = version
        with contextlib.closing(self._opened(headers)) as response:
            start, total = self._begin(response, stored, offset)
            self._append(response, start, total)
        return start > 0

    def _stored_origin(self) -> dict[str, Any]:
        """Return the origin of the partial file; {} if the download can't be resumed."""
        try:
            origin = json.loads(origin_path(Path(self.part.name)).read_text())
        except (OSError, ValueError):
            return {}
        version = origin["etag"] or origin["modified"]
        return origin if origin["url"] == self.origin and (version or self.checked) else {}

    def _opened(self, headers: dict[str, str]) -> Any:
        """Return the response, whose headers have been received."""
        try:
            handler = urllib.request.HTTPSHandler(context=_certificates())
            return urllib.request.build_opener(handler).open(self._http(headers), timeout=self.policy.stall)
        except urllib.error.HTTPError as error:
            if 300 <= error.code < 400:
                raise RefusedError(self._one_line(error)) from error
            if error.code == 416:
                clear(self.part)  # the partial file is not a prefix of this file
            if error.code >= 500 or error.code in (408, 416, 429):
                seconds = error.headers.get("Retry-After", "")
                pause = float(seconds) if seconds.isdecimal() else 0.0
                raise _BrokenError(f"HTTP status {error.code}", pause=pause) from error
            raise RefusedError(f"HTTP status {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)  # of a URLError
            broken = (TimeoutError, ConnectionResetError, BrokenPipeError, http.client.BadStatusLine)
            raise (_BrokenError if isinstance(reason, broken) else RefusedError)(self._one_line(reason)) from error

    def _http(self, headers: dict[str, str]) -> urllib.request.Request:
        """Return the request, with the credentials of the address in a header that is not sent to other servers."""
        scheme, _, rest = self.url.partition("://")
        user = user_of(rest) if scheme.startswith("http") else ""
        request = urllib.request.Request(f"{scheme}://{rest.removeprefix(user)}", headers=headers)  # noqa: S310 - a mirror may be a folder
        if user:
            name, _, password = urllib.parse.unquote(user.removesuffix("@")).partition(":")
            secret = base64.b64encode(f"{name}:{password}".encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {secret}")
        return request

    def _one_line(self, error: object) -> str:
        if isinstance(error, TimeoutError):
            return f"no data for {self.policy.stall} seconds"
        return without_credentials(" ".join(str(error).split()) or type(error).__name__, self.url)

    def _begin(self, response: Any, stored: dict[str, Any], offset: int) -> tuple[int, int | None]:
        """Return the offset at which the body is written, and the size of the complete file if it is announced."""
        start, total = self._range(response, offset)
        origin = self._origin_of(response, total)
        if start and any(origin[key] and origin[key] != stored[key] for key in ("etag", "modified", "size")):
            clear(self.part)
            raise _BrokenError("the file changed on the server")
        if total is None and self.size is None and not self.checked and not getattr(response, "chunked", False):
            raise RefusedError(
                "the server does not send the size of the file, and neither its size nor its checksum is known, so a "
                "truncated file would go unnoticed"
            )
        self._check_size(total or 0, total, joined=start > 0)
        self._check_space(total or self.size or 0)
        if not start:
            clear(self.part)
            origin_path(Path(self.part.name)).write_text(json.dumps(origin))
        return start, total

    def _origin_of(self, response: Any, total: int | None) -> dict[str, Any]:
        """Return the identification of this version of the file; a weak ETag does not guarantee identical bytes."""
        etag, modified = (response.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        etag = etag if etag.startswith('"') else ""
        return {"url": self.origin, "etag": etag, "modified": modified, "size": total}

    def _range(self, response: Any, offset: int) -> tuple[int, int | None]:
        """Return the offset at which the response begins, and the announced size of the complete file."""
        sent = response.headers.get("Content-Range", "")
        if response.status not in (None, 200, 206):  # ftp and file have no status
            raise RefusedError(f"HTTP status {response.status}")
        if response.status != 206:
            start, length = 0, response.headers.get("Content-Length", "")
        elif match := re.fullmatch(rf"bytes {offset}-\d+/(\d+|\*)", sent):
            start, length = offset, match[1]
        else:
            clear(self.part)
            raise _BrokenError(f"the server sent the range {sent!r} instead of that from byte {offset:,}")
        return start, int(length) if length.isdecimal() else None

    def _append(self, response: Any, start: int, total: int | None) -> None:
        """Write the body to the partial file, from an offset."""
        import tqdm

        self.part.seek(start)
        name, end, began = Path(self.part.name).stem, start, time.monotonic()
        with tqdm.tqdm(
            desc=name, initial=start, total=total or self.size, unit="B", unit_scale=True, disable=None
        ) as bar:
            try:
                while block := self._block(response):
                    end += len(block)
                    self._check_size(end, total, joined=start > 0)
                    self.part.write(block)
                    bar.update(len(block))
                    n_bytes, seconds = end - start, time.monotonic() - began
                    if seconds >= self.policy.stall and n_bytes < self.policy.rate * seconds:
                        raise RefusedError(
                            f"only {n_bytes:,} bytes in {seconds:.0f} seconds, less than {self.policy.rate:,} bytes "
                            "per second"
                        )
            finally:
                self.part.flush()
        if total is not None and end < total:
            raise _BrokenError(f"the connection ended after {end:,} of {total:,} bytes")

    def _block(self, response: Any) -> bytes:
        """Return the next bytes as soon as some have arrived, b"" at the end."""
        try:
            block: bytes = response.read1(_BLOCK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise _BrokenError(self._one_line(error)) from error
        return block

    def _check_size(self, n_bytes: int, total: int | None, *, joined: bool) -> None:
        """Refuse a body that is too long; after a join, the file is requested once more from its start."""
        most = next(most for most in (self.size, total, self.policy.most_bytes) if most is not None)
        if n_bytes > most:
            clear(self.part)
            raise (_BrokenError if joined else RefusedError)(f"the server sends more than {most:,} bytes")

    def _check_space(self, total: int) -> None:
        folder = Path(self.part.name).parent
        needed = total - os.fstat(self.part.fileno()).st_size  # existing bytes are either kept or overwritten
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise ProtocolError(
                f"{self.part.name}: not enough disk space in {folder}: {needed:,} bytes are needed, {free:,} are free. "
                "Free some space and run again."
            )


def _certificates() -> ssl.SSLContext:
    """Return the trusted certificates: those of a file that the environment names, otherwise those of the system."""
    bundle = next(filter(None, map(os.environ.get, _BUNDLES)), None)
    try:
        return ssl.create_default_context(cafile=bundle)
    except OSError as error:
        raise RefusedError(f"{bundle}: can't read these certificates ({error})") from error

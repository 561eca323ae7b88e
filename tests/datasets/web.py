"""A web server for tests of downloads: an answer for each path, and the requests that it received."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """A response: its status, its body, and the length that it announces ("own", or any number, or None for none).

    With `stalls`, the response ends only when the server's event `released` is set, and is cut off then.
    """

    content: bytes = b""
    status: int = 200
    length: int | str | None = "own"
    stalls: bool = False


class WebServer(ThreadingHTTPServer):
    """A server of `answers` by path; `requests` are the paths and headers of requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.stalled, self.released = threading.Event(), threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: WebServer

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        answer = self.server.answers.get(self.path, Answer(status=404))
        self.send_response(answer.status)
        if answer.length is not None:
            self.send_header("Content-Length", str(len(answer.content) if answer.length == "own" else answer.length))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may refuse the rest
            self.wfile.write(answer.content)
        if answer.stalls:
            self.server.stalled.set()
            self.server.released.wait()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def running() -> Iterator[WebServer]:
    """Run a server until the block ends."""
    with WebServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()

"""Servers on the loopback interface with configurable faults."""

import contextlib
import hashlib
import http.server
import re
import socket
import socketserver
import struct
import threading
from dataclasses import dataclass, field

import numpy as np

CONTENT = np.random.default_rng(0).bytes(200_000)
OTHER = np.random.default_rng(1).bytes(200_000)


def digest(content):
    return hashlib.sha256(content).hexdigest()


@dataclass
class Answer:
    """The server's response to one request; `drop` and `stall` are positions in the content."""

    content: bytes = CONTENT
    status: int = 200
    etag: str | None = '"one"'
    ranges: bool = True  # whether the server supports Range
    if_range: bool = True  # whether the server supports If-Range
    length: int | None = -1  # of the content; None if not announced
    drop: int | None = None
    reset: bool = False  # whether the connection is reset when it drops
    stall: int | None = None
    repeats: int = 1  # how often the content is sent
    headers: dict[str, str] = field(default_factory=dict)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.requests.append((self.path, dict(self.headers)))
        answers = self.server.answers[self.path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        sent = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(sent[1]) if sent and answer.ranges and answer.status == 200 else 0
        if answer.if_range and self.headers.get("If-Range", answer.etag) != answer.etag:
            start = 0
        length = len(answer.content) if answer.length == -1 else answer.length
        if start and start >= len(answer.content):
            self.send_response(416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else answer.status)
        for name, value in ({"ETag": answer.etag} | answer.headers).items():
            if value is not None:
                self.send_header(name, value)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(answer.content) - 1}/{length or '*'}")
        if length is not None:
            self.send_header("Content-Length", str(length - start))
        self.send_header("Connection", "close")
        self.end_headers()
        self._body(answer, start)

    def _body(self, answer, start):
        end = next((place for place in (answer.drop, answer.stall) if place is not None), None)
        try:
            for _ in range(answer.repeats):
                self.wfile.write(answer.content[start:end])
            if answer.stall is not None:
                self.server.stopped.wait()
            if answer.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
        except OSError:
            pass  # the client closed the connection


class WebServer(http.server.ThreadingHTTPServer):
    block_on_close = False

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests, self.stopped = {}, [], threading.Event()
        self.address = f"http://127.0.0.1:{self.server_port}"

    def gives(self, *answers, path="/data.bin"):
        """Respond to requests for `path` with these in order, repeating the last one; return the URL."""
        self.answers[path] = list(answers)
        return f"{self.address}{path}"

    def ranges(self):
        return [headers.get("Range") for _, headers in self.requests]

    def handle_error(self, request, client_address):
        pass  # connections that a test interrupts


class FtpHandler(socketserver.StreamRequestHandler):
    """A minimal FTP server for downloads."""

    def handle(self):
        self._say("220 ready")
        data = None
        for line in self.rfile:
            command = line.decode().strip().split()[0]
            match command:
                case "USER" | "TYPE" | "CWD":
                    self._say("200 fine" if command != "USER" else "230 come in")
                case "PASV":
                    data = socket.create_server(("127.0.0.1", 0))
                    high, low = divmod(data.getsockname()[1], 256)
                    self._say(f"227 Entering passive mode (127,0,0,1,{high},{low})")
                case "RETR":
                    size = f" ({len(self.server.content)} bytes)" if self.server.announces else ""
                    self._say(f"150 here it comes{size}")
                    drop = self.server.drops.pop(0) if self.server.drops else None
                    with data, data.accept()[0] as connection:
                        connection.sendall(self.server.content[:drop])
                    self._say("226 done" if drop is None else "426 broken")
                case "QUIT":
                    return
                case _:
                    self._say("502 unknown")

    def _say(self, text):
        self.wfile.write(f"{text}\r\n".encode())


class FtpServer(socketserver.ThreadingTCPServer):
    block_on_close = False
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FtpHandler)
        self.content, self.announces, self.drops = CONTENT, True, []
        self.url = f"ftp://127.0.0.1:{self.server_address[1]}/data.bin"

    def handle_error(self, request, client_address):
        pass


@contextlib.contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()

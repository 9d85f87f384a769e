"""One connection: reads a request, writes the answer, or breaks off in the way that was asked for."""

from __future__ import annotations

import json
import socket
import struct
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from dfah_cli.integrations.loopback.conversation import JSON, Answer, Fault, Minted, Opening

if TYPE_CHECKING:
    from dfah_cli.integrations.loopback.server import Dialect

MAX_BODY = 16 * 1024 * 1024


class Handler(BaseHTTPRequestHandler):
    """Serves POST of the three protocols and GET /v1/models."""

    protocol_version = "HTTP/1.1"
    # Small writes of a stream must not wait for each other.
    disable_nagle_algorithm = True

    def decide(self, path: str, headers: dict[str, str], body: JSON) -> tuple[Dialect, Opening, Any, Minted]:
        """What to answer."""
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Waits, unless the server is being stopped."""
        raise NotImplementedError

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: requests hold prompts."""

    def do_GET(self) -> None:
        models = [{"id": "loopback", "object": "model", "created": 1_700_000_000, "owned_by": "loopback"}]
        known = self.path.split("?")[0] == "/v1/models"
        self._send(200 if known else 404, {"object": "list", "data": models} if known else _error("not_found", 404))

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        try:
            body = json.loads(self.rfile.read(min(int(self.headers["content-length"] or 0), MAX_BODY)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            dialect, opening, given, minted = self.decide(path, headers, body)
        except KeyError as problem:
            return self._send(404 if problem.args == (path,) else 400, _error("invalid_request_error", 400))
        except (ValueError, TypeError, AttributeError):
            return self._send(400, _error("invalid_request_error", 400))
        if isinstance(given, Fault):
            return self._fail(given)
        if opening.stream:
            return self._stream(dialect, opening, given, minted)
        return self._send(200, dialect.answer_json(opening, given, minted))

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "rate_limit":
            # Both spellings: clients that know milliseconds need not wait a whole second.
            waiting = {"retry-after": f"{fault.retry_after_s:g}", "retry-after-ms": f"{fault.retry_after_s * 1000:g}"}
            return self._send(429, _error("rate_limit_error", 429), waiting)
        if fault.kind == "server_error":
            return self._send(500, _error("server_error", 500))
        if fault.kind == "malformed":
            return self._write(200, b'{"id": "broken", "choices": [', "application/json")
        if fault.kind == "timeout":
            self.pause(fault.seconds)
        if fault.kind == "cut":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "4096")
            self.end_headers()
            self.wfile.write(b'{"id": "cut",')
        return self._reset()

    def _reset(self) -> None:
        # Linger of zero seconds: closing sends RST instead of FIN.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _send(self, status: int, body: JSON, headers: dict[str, str] | None = None) -> None:
        self._write(status, json.dumps(body).encode(), "application/json", headers)

    def _write(self, status: int, payload: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(payload)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, dialect: Dialect, opening: Opening, answer: Answer, minted: Minted) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in dialect.answer_events(opening, answer, minted):
            kind = json.loads(data).get("type") if data.startswith("{") else None
            event = f"event: {kind}\ndata: {data}\n\n" if kind else f"data: {data}\n\n"
            self._chunk(event.encode())
        self._chunk(b"")

    def _chunk(self, payload: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))


def _error(kind: str, status: int) -> JSON:
    """An error both protocols understand."""
    message = f"The demonstration provider answers with status {status}."
    return {"type": "error", "error": {"type": kind, "message": message, "param": None, "code": kind}}

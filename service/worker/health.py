"""`/readyz`, `/healthz` and `/metrics` of a worker, for an orchestrator; on a thread of its own."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4


def serve_health(port: int, ready: Callable[[], bool], metrics: Callable[[], bytes]) -> ThreadingHTTPServer:
    """Start answering on all addresses.

    Args:
        port: TCP port, 0 = any free one.
        ready: whether the worker holds a bundle and its batches end.
        metrics: the text format.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = HTTPStatus.OK, b"ok\n"
            if self.path == "/metrics":
                body = metrics()
            elif self.path == "/readyz" and not ready():
                status, body = HTTPStatus.SERVICE_UNAVAILABLE, b"not ready\n"
            elif self.path not in ("/healthz", "/readyz"):
                status, body = HTTPStatus.NOT_FOUND, b"not found\n"
            self.send_response(status)
            self.send_header("content-type", CONTENT_TYPE_PLAIN_0_0_4)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes are not worth a line."""

    server = ThreadingHTTPServer(("", port), Handler)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    return server

"""Clients that stop in the middle: their connections are closed, and nobody else notices."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.service.api.conftest import Served

from .test_supervisor import BODY, answers, serving, wait

HALF = (
    b"",
    b"POST /recommend HTTP/1.1\r\nHost: shop\r\nContent-",
    b"GET /readyz HTTP/1.1\r\nHost: shop\r\nContent-Length: 99\r\n\r\nhalf",
)
LARGE_HEADER = b"GET /readyz HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 4000) for n in range(200))
LONGEST_S = 30.0


@pytest.fixture(scope="module")
def impatient(two_bundles: Path) -> Iterator[Served]:
    """A service that waits a second for headers and two for anything else."""
    with serving(two_bundles, body_timeout_s="1", keep_alive_s="2") as server:
        wait(lambda: answers(server.url))
        yield server


def connect(server: Served, sent: bytes) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=LONGEST_S)
    connection.sendall(sent)
    return connection


def until_closed(connection: socket.socket) -> float:
    """Seconds until the other end closes; what it says until then is read."""
    started = time.monotonic()
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    finally:
        connection.close()
    return time.monotonic() - started


@pytest.mark.parametrize("sent", HALF, ids=["nothing", "half a header", "half a body that nobody reads"])
def test_a_half_open_connection_is_closed(impatient: Served, sent: bytes) -> None:
    assert until_closed(connect(impatient, sent)) < LONGEST_S


def test_headers_beyond_all_bounds_are_not_kept(impatient: Served) -> None:
    assert until_closed(connect(impatient, LARGE_HEADER)) < LONGEST_S


def test_hundreds_of_half_open_connections_keep_nobody_from_being_answered(impatient: Served) -> None:
    stalled = [connect(impatient, HALF[1]) for _ in range(400)]
    with httpx.Client(base_url=impatient.url, timeout=LONGEST_S) as client:
        for _ in range(50):
            assert client.post("/recommend", json=BODY).status_code == 200
    for connection in stalled:
        until_closed(connection)


def test_a_slow_but_steady_client_is_served(impatient: Served) -> None:
    """Three requests with pauses longer than the service looks apart, on one connection that is kept alive."""
    with httpx.Client(base_url=impatient.url, timeout=LONGEST_S) as client:
        for _ in range(3):
            assert client.post("/recommend", json=BODY).status_code == 200
            time.sleep(1.0)

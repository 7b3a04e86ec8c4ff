"""The real server: sockets, concurrency, signals, several processes."""

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from models.errors import ConfigError
from service.commands.serve import read_settings
from tests.service.api.conftest import ITEM_IDS, Served, serving

BODY = {"history": ["item-010", "item-020"], "k": 20}


def raw(url: str, *parts: bytes) -> bytes:
    """Send bytes as they are and read until the server closes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=90) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_it_answers_over_a_real_socket(served: Served) -> None:
    answer = httpx.post(f"{served.url}/recommend", json=BODY, headers={"x-request-id": "over-tcp"})
    assert answer.status_code == 200
    assert answer.headers["x-request-id"] == "over-tcp"
    assert answer.headers["content-type"] == "application/json"
    assert "server" not in answer.headers
    assert len(answer.json()["items"]) == 20


def test_ids_in_paths_arrive_as_they_were_encoded(served: Served) -> None:
    for path, item_id in (("a%2Fb", "a/b"), ("100%25", "100%"), ("%3Fq=1%23x", "?q=1#x"), ("n%C3%A9", "né")):
        assert httpx.get(f"{served.url}/items/{path}").json()["item_id"] == item_id


def test_many_clients_at_once_get_each_their_own_answer(served: Served) -> None:
    with httpx.Client(base_url=served.url) as client, ThreadPoolExecutor(16) as pool:

        def ask(n: int) -> tuple[str, str]:
            seen = ITEM_IDS[n % len(ITEM_IDS)]
            body = {"user_id": f"user-{n}", "history": [seen], "k": 500}
            answer = client.post("/recommend", json=body, headers={"x-request-id": f"r{n}"}).json()
            assert seen not in {item["item_id"] for item in answer["items"]}
            return answer["request_id"], answer["user_id"]

        assert list(pool.map(ask, range(400))) == [(f"r{n}", f"user-{n}") for n in range(400)]


def test_a_chunked_body_beyond_the_limit_is_a_413_and_the_connection_goes_on(served: Served) -> None:
    connection = HTTPConnection(served.url.removeprefix("http://"), timeout=90)
    for chunks, status in ((33, 413), (31, 200)):
        body = iter([b"{}", *[b" " * 65_536] * chunks])
        connection.request("POST", "/recommend", body, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        assert answer.status == status
        answer.read()
    connection.close()


def test_an_announced_body_beyond_the_limit_is_refused_without_waiting_for_it(served: Served) -> None:
    connection = HTTPConnection(served.url.removeprefix("http://"), timeout=90)
    connection.putrequest("POST", "/recommend")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "99999999999")
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /items/\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /recommend HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    ],
)
def test_what_is_not_http_is_a_400_and_others_are_still_served(served: Served, request_bytes: bytes) -> None:
    assert 400 <= status_of(raw(served.url, request_bytes)) < 500
    assert httpx.get(f"{served.url}/healthz").status_code == 200


def test_requests_in_a_pipeline_are_answered_in_order(served: Served) -> None:
    body = json.dumps(BODY).encode()
    head = b"POST /recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(
        body
    )
    requests = [head + b"X-Request-ID: p%d\r\n" % n for n in range(5)]
    requests[-1] += b"Connection: close\r\n"
    answer = raw(served.url, b"".join(request + b"\r\n" + body for request in requests))
    assert [answer.count(b'"request_id":"p%d"' % n) for n in range(5)] == [1] * 5
    assert sorted(range(5), key=lambda n: answer.index(b'"request_id":"p%d"' % n)) == [0, 1, 2, 3, 4]


def test_a_body_that_stops_half_way_is_a_408(bundles: Path, tmp_path: Path) -> None:
    head = b"POST /recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
    with serving(bundles, tmp_path / "log", body_timeout_s="0.2") as server:
        assert status_of(raw(server.url, head)) == 408


def test_sigterm_lets_a_request_in_flight_finish_and_exits_0(bundles: Path, tmp_path: Path) -> None:
    body = json.dumps(BODY).encode()
    head = b"POST /recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
        body
    )
    with serving(bundles, tmp_path / "log") as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=90) as connection:
            connection.sendall(head + body[:5])
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            server.process.send_signal(signal.SIGTERM)
            _wait_until_refused(host, int(port))
            connection.sendall(body[5:])
            answer = connection.recv(65_536)
        assert status_of(answer) == 200
        assert server.process.wait(90) == 0


def _wait_until_refused(host: str, port: int) -> None:
    """Until nobody accepts connections any more."""
    while True:
        try:
            socket.create_connection((host, port), timeout=30).close()
        except OSError:
            return


def test_an_idle_server_ends_at_once_on_ctrl_c_with_0(bundles: Path, tmp_path: Path) -> None:
    with serving(bundles, tmp_path / "log") as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(90) == 0


def test_several_processes_share_a_port_and_end_with_0(bundles: Path, tmp_path: Path) -> None:
    with serving(bundles, tmp_path / "log", workers="2") as server:
        _wait_until_ready(server.url)
        assert httpx.post(f"{server.url}/recommend", json=BODY).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(90) == 0


def _wait_until_ready(url: str) -> None:
    while True:
        try:
            if httpx.get(f"{url}/readyz", timeout=30).status_code == 200:
                return
        except httpx.TransportError:
            continue


def test_the_log_is_json_and_says_which_bundle_serves(served: Served) -> None:
    events = [json.loads(line) for line in served.log.read_text().splitlines()]
    serves = [event for event in events if event["event"] == "bundle serves"]
    assert len(serves) == 1
    assert serves[0]["items"] == len(ITEM_IDS)
    assert all({"event", "level", "timestamp"} <= set(event) for event in events)


def test_an_access_log_is_written_where_it_is_asked_for(bundles: Path, tmp_path: Path) -> None:
    with serving(bundles, tmp_path / "log", access_log="true") as server:
        httpx.post(f"{server.url}/recommend", json=BODY | {"user_id": "secret-user"}, headers={"x-request-id": "seen"})
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(90)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    line = next(one for one in lines if one.get("request_id") == "seen")
    assert (line["method"], line["route"], line["status"]) == ("POST", "/recommend", 200)
    assert "secret-user" not in json.dumps(lines)


def test_the_process_never_imports_torch_or_the_offline_room(bundles: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from service.server import create_worker_app, run_one\n"
        "from service.engine import open_engine; open_engine(Path(sys.argv[1])); create_worker_app()\n"
        "print([name for name in ('torch', 'offline', 'pandas', 'duckdb') if name in sys.modules])"
    )
    root = Path(__file__).resolve().parents[3]
    environment = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-c", code, str(bundles)]
    assert subprocess.check_output(command, env=environment, text=True).splitlines()[-1] == "[]"


def test_a_bad_setting_is_named_and_exits_2(tmp_path: Path) -> None:
    environment = os.environ | {"SHORTLIST_DEADLINE_MS": "soon"}
    command = [sys.executable, "-P", "-c", "from models.cli import main; main()", "serve"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "SHORTLIST_DEADLINE_MS" in done.stderr
    assert "Traceback" not in done.stderr


SECRET = "a-secret"


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ADMIN_KEY", SECRET), ("API_KEYS", SECRET), ("API_KEYS", f'[{{"key": "{SECRET}", "scopes": ["read"]}}]')],
)
def test_a_bad_secret_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(f"SHORTLIST_{variable}", value)
    with pytest.raises(ConfigError) as refused:
        read_settings()
    assert f"SHORTLIST_{variable}" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["http://:secret@a", "a:6379", "rediss+clusters://:secret@a", "redis+cluster://", "redis+cluster://:secret@a:x"],
)
def test_an_address_of_redis_that_is_none_is_told_at_the_start_without_its_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_REDIS_URL", url)
    with pytest.raises(ConfigError, match="SHORTLIST_REDIS_URL") as caught:
        read_settings()
    assert "secret" not in str(caught.value)

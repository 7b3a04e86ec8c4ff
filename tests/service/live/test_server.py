"""The embedded server keeps what was acknowledged, dies with its parent and refuses a second one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import redis

from models.errors import ConfigError, MissingExtraError
from service.redis import server as module
from service.redis.server import EmbeddedRedis, EmbeddedRedisConfig

from .conftest import binaries


@pytest.mark.parametrize("binary", binaries(), ids=str)
def test_an_acknowledged_write_outlives_a_killed_server(tmp_path: Path, binary: Path) -> None:
    config = EmbeddedRedisConfig(tmp_path, binary=binary)
    with EmbeddedRedis(config) as first, redis.Redis.from_url(first.url) as client:
        client.set("kept", "yes")
        os.kill(first.pid, signal.SIGKILL)
        psutil.Process(first.pid).wait(5)
    with EmbeddedRedis(config) as second, redis.Redis.from_url(second.url) as client:
        assert client.get("kept") == b"yes"


def test_only_keys_with_a_time_to_live_may_leave(redis_server: EmbeddedRedis) -> None:
    with redis.Redis.from_url(redis_server.url) as client:
        config = client.config_get("maxmemory*")
    assert config["maxmemory"] == str(512 << 20)
    assert config["maxmemory-policy"] == "volatile-lru"


def test_the_server_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from service.redis.server import *\n"
        f"server = EmbeddedRedis(EmbeddedRedisConfig(pathlib.Path({str(tmp_path)!r})))\n"
        "server.start(); print(server.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(5)
    assert not child.is_running()


def test_the_socket_of_a_folder_too_deep_for_one_is_found_by_others(tmp_path: Path) -> None:
    config = EmbeddedRedisConfig(tmp_path / ("deep-" * 20) / "redis")
    with EmbeddedRedis(config) as server:
        assert EmbeddedRedis(config).url == server.url
        with redis.Redis.from_url(EmbeddedRedis(config).url) as client:
            assert client.ping()


def test_a_second_server_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    config = EmbeddedRedisConfig(tmp_path)
    with EmbeddedRedis(config), pytest.raises(ConfigError, match="running Redis server"):
        EmbeddedRedis(config).start()


def test_a_machine_without_any_server_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="SHORTLIST_REDIS_URL"):
        module.find_binary()

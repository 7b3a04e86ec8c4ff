"""A real Redis Cluster of three primaries on this machine, for tests."""

import random
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
import redis.crc

from service.redis.server import find_binary
from service.supervisor.launch import guarded

from .test_supervisor import wait

NODES = 3
SLOTS = 16384
BUS = 10_000
"""What Redis adds to a node's port for the cluster's own traffic."""


def slot_of(key: str) -> int:
    """Hash slot of a key."""
    return int(redis.crc.key_slot(key.encode()))


class Node:
    """One server of the cluster."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self.port = folder, _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port, decode_responses=True)

    def start(self) -> None:
        """Start it, with what its folder holds, and wait until it answers."""
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self._folder),
            "cluster-enabled": "yes",
            "cluster-node-timeout": "2000",
            "cluster-require-full-coverage": "no",
            "appendonly": "yes",
            "save": "",
            "logfile": str(self._folder / "log"),
        }
        command = [str(find_binary()), *(part for name, value in options.items() for part in (f"--{name}", value))]
        self._process = subprocess.Popen(guarded(command))
        wait(self._answers)

    def kill(self) -> None:
        """End it as a lost machine ends."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def ask(self, *words: object) -> object:
        """The answer to a command, as the node gives it to anybody."""
        return self.client.execute_command(*words)

    def healthy(self) -> bool:
        """Whether it sees every slot served and all nodes."""
        said: dict[str, str] = self.ask("CLUSTER INFO")  # type: ignore[assignment]
        return said["cluster_state"] == "ok" and said["cluster_known_nodes"] == str(NODES)

    @property
    def name(self) -> str:
        """Its id in the cluster."""
        return str(self.ask("CLUSTER MYID"))


class Cluster:
    """Three primaries that share the slots."""

    def __init__(self, folder: Path) -> None:
        self.nodes = [Node(folder / str(number)) for number in range(NODES)]

    def start(self) -> None:
        """Start the nodes, give each a third of the slots and wait until they agree."""
        share = SLOTS // NODES + 1
        for number, node in enumerate(self.nodes):
            node.start()
            node.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            node.ask("CLUSTER ADDSLOTS", *range(number * share, min(SLOTS, (number + 1) * share)))
            node.ask("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
        self.wait_healthy()

    def wait_healthy(self) -> None:
        """Wait until every node sees every slot served."""
        wait(lambda: all(node.healthy() for node in self.nodes))

    def kill(self) -> None:
        """End every node."""
        for node in self.nodes:
            node.client.close()
            node.kill()

    @property
    def url(self) -> str:
        """Address for the service: two of the nodes."""
        return f"redis+cluster://127.0.0.1:{self.nodes[0].port},127.0.0.1:{self.nodes[1].port}"

    def clear(self) -> None:
        """Forget all data."""
        for node in self.nodes:
            node.client.flushall()

    def owner(self, key: str) -> Node:
        """Who serves a key now."""
        slot = slot_of(key)
        return next(node for node in self.nodes if _serves(node, slot))

    def keys(self, pattern: str = "*") -> dict[int, list[str]]:
        """Keys by the number of the node that holds them."""
        return {number: sorted(node.client.scan_iter(pattern)) for number, node in enumerate(self.nodes)}

    def begin_move(self, key: str) -> tuple[Node, Node]:
        """Open the key's slot for a move to another node, and move what it holds. Returns both: from, to."""
        slot, source = slot_of(key), self.owner(key)
        target = next(node for node in self.nodes if node is not source)
        target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.name)
        source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target.name)
        _move(slot, source, target)
        return source, target

    def end_move(self, key: str, source: Node, target: Node) -> None:
        """Close the slot: from now on the target owns it."""
        _move(slot_of(key), source, target)
        for node in (target, source, *self.nodes):
            node.ask("CLUSTER SETSLOT", slot_of(key), "NODE", target.name)


def _move(slot: int, source: Node, target: Node) -> None:
    while found := source.ask("CLUSTER GETKEYSINSLOT", slot, 100):
        source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *found)  # type: ignore[misc]


def _serves(node: Node, slot: int) -> bool:
    known: dict[str, dict[str, Any]] = node.ask("CLUSTER NODES")  # type: ignore[assignment]
    (own,) = (seen for seen in known.values() if "myself" in seen["flags"])
    return any(int(part[0]) <= slot <= int(part[-1]) for part in own["slots"])


def _free_port() -> int:
    """A port that is free for a node, and the one of its bus."""
    while True:
        port = random.randrange(20_000, 32_000)
        try:
            for number in (port, port + BUS):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A running cluster, ended at the end."""
    started = Cluster(folder)
    try:
        started.start()
        yield started
    finally:
        started.kill()

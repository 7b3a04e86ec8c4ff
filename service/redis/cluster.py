"""Redis Cluster: which addresses mean one, and a client that serves them.

Every script, transaction and multi-key command of the service stays within one hash slot (`service.redis.keys`), so
the cluster's client only has to find the node. What of redis-py's is left alone, and why:

* Subscriptions and blocking reads go over a plain connection to the node that owns the key: the cluster's client asks
  its default node for the keys of each XREADGROUP, and stops reading when that one node is gone.
* No reinitializing after a number of MOVED answers: it closes connections that others read from, and the retry still
  looks into the old table (redis-py pull request 4322). Each MOVED answer corrects its own slot.
* ASKING goes with its command over one connection (`_Importing`): sent by itself it may take another one of the pool,
  and the command is sent to and fro until redis-py gives up. Nodes that have no slot yet are found too (issue 4015).
* The limit of connections is never met (`MaxConnectionsError` comes at once, issue 3135): `RedisLink` lets fewer
  callers in.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio.cluster import ClusterNode, PipelineCommand, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from models.errors import ConfigError

SCHEMES = {"redis+cluster": "redis", "rediss+cluster": "rediss"}
DEFAULT_PORT = 6379
SPARE = 4
"""Connections a node for each caller: those that a failure marked count until they are closed."""


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """`redis+cluster://[user:password@]host[:port][,host[:port]...][?options]`; `rediss+cluster://` for TLS.

    Attributes:
        scheme: of each node's own URL.
        login: user and password with the at sign, or nothing.
        nodes: hosts and ports that are asked for the others; one that answers is enough.
        options: the query, with its question mark, or nothing.
    """

    scheme: str
    login: str
    nodes: tuple[tuple[str, int], ...]
    options: str

    def url(self, host: str, port: int) -> str:
        """Address of one node.

        >>> read_address("redis+cluster://:word@a:7000,b/?health_check_interval=5").url("::1", 7)
        'redis://:word@[::1]:7?health_check_interval=5'
        """
        shown = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{self.login}{shown}:{port}{self.options}"


def is_cluster(url: str) -> bool:
    """Whether an address means a cluster."""
    return url.partition("://")[0] in SCHEMES


def read_address(url: str) -> ClusterAddress:
    """Read the address of a cluster.

    >>> read_address("redis+cluster://a:7000,b,[::1]:7001").nodes
    (('a', 7000), ('b', 6379), ('::1', 7001))

    Raises:
        ConfigError: it is no such address, names no host, a port that is none, or a database; the message shows no
            password.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES:
        raise _refused(f"{scheme}://", " or ".join(f"{known}://" for known in SCHEMES))
    where, mark, options = rest.partition("?")
    where, _, database = where.partition("/")
    login, at, hosts = where.rpartition("@")
    if database not in ("", "0"):
        raise _refused(f"database {database}", "none: a cluster has database 0 alone")
    try:
        nodes = tuple(_node(host) for host in hosts.split(","))
    except ValueError:
        raise _refused(f"hosts {hosts!r}", "host:port, several with commas between") from None
    return ClusterAddress(SCHEMES[scheme], login + at, nodes, mark + options)


def _node(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(text)
    return parts.hostname, parts.port or DEFAULT_PORT


def _refused(found: str, expected: str) -> ConfigError:
    return ConfigError("SHORTLIST_REDIS_URL", found=found, expected=expected, remedy="Correct the address.")


class _Importing:
    """A node that takes over a slot just now: what redis-py asks of it for one redirected command."""

    def __init__(self, node: ClusterNode, *, known: bool) -> None:
        self._node, self._known = node, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        """Nothing for ASKING alone; with the command it follows in one writing."""
        if words == ("ASKING",):
            return None
        options.pop("asking", None)
        command = PipelineCommand(1, *words, **options)
        try:
            await self._node.execute_pipeline([PipelineCommand(0, "ASKING"), command])
        finally:
            if not self._known:
                await self._node.disconnect()
        if isinstance(command.result, Exception):
            raise command.result
        return command.result


class _Client(RedisCluster):
    """redis-py's, with its way to a node that imports a slot replaced."""

    def get_node(self, host: str | None = None, port: int | None = None, node_name: str | None = None) -> Any:
        """A node by address, None = unknown; by name it is where ASK sends a command."""
        known = super().get_node(host, port, node_name)
        if node_name is None:
            return known
        where, _, number = node_name.rpartition(":")
        return _Importing(known or ClusterNode(where, int(number), **self.connection_kwargs), known=known is not None)


def open_cluster(address: ClusterAddress, *, connections: int, timeout_s: float) -> RedisCluster:
    """A client; it connects when it is first used.

    Args:
        address: where to begin.
        connections: commands that may be under way at once.
        timeout_s: the longest a connection waits for a node.
    """
    return _Client.from_url(
        address.url(*address.nodes[0]),
        startup_nodes=[ClusterNode(host, port) for host, port in address.nodes[1:]],
        max_connections=SPARE * connections,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 1),
        reinitialize_steps=0,
        protocol=2,
    )

"""Who may do what: keys with scopes, compared in constant time; without keys only this machine may write."""

import hmac
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address

from pydantic import SecretStr
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from service.live.settings import ApiKey, Scope
from service.problems import ProblemError, ProblemKind
from service.settings import Settings

METRICS = "/metrics"
BEHIND = ("/admin", METRICS)
PROBES = ("/healthz", "/readyz")
ADMIN_DOOR = "shortlist.admin_door"
OPEN = ("/healthz", "/readyz", "/docs", "/openapi.json", "/page/")
"""Paths, or beginnings of paths, that hold no data."""
BEARER = b"bearer "


@lru_cache(maxsize=1024)
def needed(method: str, path: str) -> Scope | None:
    """The scope that a request needs, None = it is open to all.

    >>> needed("POST", "/v1/recommend"), needed("PUT", "/items/a/availability"), needed("GET", "/healthz")
    (<Scope.READ: 'read'>, <Scope.WRITE: 'write'>, None)
    """
    path = path.removeprefix("/v1")
    if path == "/" or path.startswith(OPEN):
        return None
    if path.startswith("/admin"):
        return Scope.ADMIN
    if path.startswith("/events"):
        return Scope.EVENTS
    if path.startswith("/users") or method in ("PUT", "DELETE", "PATCH"):
        return Scope.WRITE
    return Scope.READ


def _digest(key: SecretStr) -> bytes:
    return sha256(key.get_secret_value().encode()).digest()


def admin_door(app: ASGIApp) -> ASGIApp:
    """The application as the admin port shows it."""

    async def enter(scope: AsgiScope, receive: Receive, send: Send) -> None:
        await app({**scope, ADMIN_DOOR: True}, receive, send)

    return enter


def separate_doors(scope: AsgiScope) -> None:
    """A gate for a service with an admin port: /admin and /metrics are there only, and nothing else is.

    Raises:
        ProblemError: 404, the path belongs to the other port.
    """
    path = scope["path"]
    if path not in PROBES and path.startswith(BEHIND) != bool(scope.get(ADMIN_DOOR)):
        raise ProblemError(HTTPStatus.NOT_FOUND, ProblemKind.NOT_FOUND, "There is nothing at this path.")


class Access:
    """A gate of the edge.

    Args:
        keys: configured keys.
        admin_key: the key of /admin; it may do everything else too. None = /admin is disabled.
    """

    def __init__(self, keys: Iterable[ApiKey], admin_key: SecretStr | None) -> None:
        self._granted = [(_digest(key.key), key.scopes) for key in keys]
        self._restricted = bool(self._granted)
        if admin_key is not None:
            self._granted.append((_digest(admin_key), frozenset(Scope)))
        self._has_admin = any(Scope.ADMIN in scopes for _, scopes in self._granted)

    @classmethod
    def of(cls, settings: Settings) -> "Access":
        """The gate that the settings describe."""
        return cls(settings.api_keys, settings.admin_key)

    def __call__(self, scope: AsgiScope) -> None:
        """Let the request pass.

        Raises:
            ProblemError: 401 no key or an unknown one, 403 a key without the scope or a place from which it may not.
        """
        wanted = needed(scope["method"], scope["path"])
        if wanted is None or scope["method"] == "OPTIONS" or _is_scrape(scope):
            return
        if wanted is Scope.ADMIN and not self._has_admin:
            raise _forbidden("/admin is disabled: no admin key is configured.")
        if not self._restricted and wanted is not Scope.ADMIN:
            self._from_here(scope, wanted)
            return
        self._with_key(scope, wanted)

    def _from_here(self, scope: AsgiScope, wanted: Scope) -> None:
        if wanted is Scope.WRITE and not _is_local(scope) and not self._allows(_presented(scope), wanted):
            raise _forbidden("Without configured keys only this machine may write.")

    def _with_key(self, scope: AsgiScope, wanted: Scope) -> None:
        presented = _presented(scope)
        if presented is None or not self._scopes(presented):
            raise _unauthorised()
        if not self._allows(presented, wanted):
            raise _forbidden(f"The key does not have the scope {wanted}.")

    def _scopes(self, presented: bytes) -> frozenset[Scope]:
        """Every configured key is compared, so the time tells nothing."""
        digest = sha256(presented).digest()
        found: frozenset[Scope] = frozenset()
        for known, scopes in self._granted:
            found = scopes if hmac.compare_digest(known, digest) else found
        return found

    def _allows(self, presented: bytes | None, wanted: Scope) -> bool:
        scopes = frozenset[Scope]() if presented is None else self._scopes(presented)
        return wanted in scopes or Scope.ADMIN in scopes


def _presented(scope: AsgiScope) -> bytes | None:
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            return bytes(value)
        if name == b"authorization" and value[: len(BEARER)].lower() == BEARER:
            return bytes(value[len(BEARER) :])
    return None


def _is_scrape(scope: AsgiScope) -> bool:
    """Metrics behind the admin port are for whoever the network lets reach it: a Prometheus that finds its targets by
    itself sends no key, and they name no user and no item."""
    return bool(scope.get(ADMIN_DOOR)) and scope["path"] == METRICS


def _is_local(scope: AsgiScope) -> bool:
    client = scope.get("client")
    try:
        return client is None or ip_address(client[0]).is_loopback
    except ValueError:
        return False


def _forbidden(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.FORBIDDEN, ProblemKind.FORBIDDEN, detail)


def _unauthorised() -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        ProblemKind.UNAUTHORISED,
        "The request needs a key: Authorization: Bearer KEY, or X-API-Key: KEY.",
        headers={"www-authenticate": "Bearer"},
    )

"""Serves the storefront page from memory: content-hash ETags, gzip, and headers that let nothing foreign in."""

import gzip
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
"""Sent with every file. `no-cache` lets browsers keep a file and makes them ask whether it is still the same."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page, ready to send.

    Attributes:
        media_type: with the character set.
        plain: the file's bytes.
        packed: the same, gzipped.
        digest: of the plain bytes, so that every replica gives the same ETag.
    """

    media_type: str
    plain: bytes
    packed: bytes
    digest: str

    def respond(self, request: Request) -> Response:
        """200 with the smallest form that the browser takes, or 304 when it holds this one already."""
        zipped = "gzip" in request.headers.get("accept-encoding", "")
        etag = f'"{self.digest}-gzip"' if zipped else f'"{self.digest}"'
        headers = HEADERS | {"ETag": etag} | ({"Content-Encoding": "gzip"} if zipped else {})
        if _holds(request.headers.get("if-none-match", ""), etag):
            return Response(status_code=304, headers=headers)
        return Response(self.packed if zipped else self.plain, headers=headers, media_type=self.media_type)


def page_routes() -> list[BaseRoute]:
    """Routes `/` and `/page/{file}`; the files are read once, here."""
    assets = _read_assets()

    async def index(request: Request) -> Response:
        return assets["index.html"].respond(request)

    async def asset(request: Request) -> Response:
        found = assets.get(request.path_params["file"])
        if found is None:
            raise HTTPException(404, "The page has no such file.")
        return found.respond(request)

    return [Route("/", index, name="page"), Route("/page/{file}", asset, name="page-file")]


def _read_assets() -> dict[str, Asset]:
    folder = resources.files("service.page") / "static"
    return {
        entry.name: _asset(entry.name, entry.read_bytes())
        for entry in folder.iterdir()
        if PurePosixPath(entry.name).suffix in MEDIA_TYPES
    }


def _asset(name: str, content: bytes) -> Asset:
    media_type = f"{MEDIA_TYPES[PurePosixPath(name).suffix]}; charset=utf-8"
    digest = hashlib.sha256(content).hexdigest()[:24]
    return Asset(media_type, content, gzip.compress(content, 9, mtime=0), digest)


def _holds(if_none_match: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return etag in tags or "*" in tags

"""`GET /docs`: the interactive documentation; its scripts come from an installed package, not from the internet."""

from importlib import resources
from pathlib import Path

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

ASSETS = "/docs/assets"


def add_docs(app: FastAPI) -> None:
    """Serve `/docs` over `/openapi.json`."""
    folder = Path(str(resources.files("fastapi_offline"))) / "static"
    app.mount(ASSETS, StaticFiles(directory=folder), name="docs assets")

    async def docs(request: Request) -> Response:
        root = request.scope.get("root_path", "").rstrip("/")
        return get_swagger_ui_html(
            openapi_url=f"{root}/openapi.json",
            title="Shortlist",
            swagger_js_url=f"{root}{ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{root}{ASSETS}/favicon.png",
        )

    app.add_route("/docs", docs, include_in_schema=False)

"""The HTTP server of an API process: uvicorn, told to drain on SIGTERM and to exit 0 when it has."""

import signal
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from service.app import Service, create_app
from service.logs import configure_logs
from service.settings import Settings

FACTORY = "service.server:create_worker_app"


def create_worker_app() -> Service:
    """The application of a worker process, which knows its settings from the environment alone."""
    settings = Settings()
    configure_logs(settings.log_level, settings.log_format)
    return create_app(settings)


def server_config(app: ASGIApp | str, settings: Settings) -> uvicorn.Config:
    """How uvicorn runs: uvloop and httptools, no websockets, no access log of its own."""
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=settings.drain_timeout_s,
    )


def run_one(app: Service, settings: Settings) -> None:
    """Serve in this process until SIGTERM or SIGINT, finish what is in flight, return."""
    configure_logs(settings.log_level, settings.log_format)
    server = uvicorn.Server(server_config(app, settings))

    def stop(number: int, frame: FrameType | None) -> None:
        """Uvicorn raises the signal again when it has drained; by then there is nothing left to stop."""
        server.handle_exit(number, frame)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run()
    if not server.started:
        raise SystemExit(1)


def run_several(settings: Settings) -> None:
    """Serve in `workers` processes that share one socket; one that dies is replaced."""
    configure_logs(settings.log_level, settings.log_format)
    config = server_config(FACTORY, settings)
    Multiprocess(config, sockets=[config.bind_socket()]).run()

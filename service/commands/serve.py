"""`shortlist serve`: answer HTTP from a folder of bundles."""

import os
from typing import Annotated

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from models.errors import ConfigError
from service.settings import Settings
from service.supervisor.launch import leave_now, leave_on_sigterm

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Read by the numeric libraries when they are first imported."""
SECRET = frozenset({"admin_key", "api_keys", "redis_url", "sink_key"})

Bundles = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URL", help="Folder of bundles, or s3:// or gs:// root [SHORTLIST_BUNDLES].", show_default=False
    ),
]
Host = Annotated[str | None, typer.Option(help="Address to listen on [SHORTLIST_HOST].", show_default=False)]
Port = Annotated[
    int | None, typer.Option(help="TCP port, 0 = any free one [SHORTLIST_PORT].", min=0, max=65535, show_default=False)
]
Workers = Annotated[
    int | None, typer.Option(help="API processes [SHORTLIST_WORKERS].", min=1, max=64, show_default=False)
]


def _export(name: str, value: object | None) -> None:
    if value is not None:
        os.environ[f"SHORTLIST_{name}"] = str(value)


def read_settings() -> Settings:
    """Settings of the environment.

    Raises:
        ConfigError: one of them is not valid; a secret's value is not in the message.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        found = "a value that is not shown" if first["loc"][0] in SECRET else repr(first["input"])
        raise _refused("_".join(map(str, first["loc"])), found, first["msg"]) from None
    except SettingsError as error:
        name = str(error).split('"')[1]
        raise _refused(name, "no JSON", "a value as the table of settings shows it") from None


def _refused(name: str, found: str, expected: str) -> ConfigError:
    return ConfigError(
        f"SHORTLIST_{name}".upper(), found=found, expected=expected, remedy="Correct the variable or the flag."
    )


def limit_threads(threads: int) -> None:
    """Say how many threads a search may use, before any numeric library is imported; what is set already stays."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, str(threads))


def serve(bundles: Bundles = None, host: Host = None, port: Port = None, workers: Workers = None) -> None:
    """Serve the current bundle of a folder over HTTP; every other setting is a SHORTLIST_* variable.

    One parent starts Redis (unless SHORTLIST_REDIS_URL names one), the API processes and, for a bundle with a
    generator, the gr workers; it replaces those that die and drains them on SIGTERM. The service starts without a
    bundle too, answers 503 until one is published, and picks up each new one by itself.
    """
    leave_on_sigterm()
    for name, value in (("BUNDLES", bundles), ("HOST", host), ("PORT", port), ("WORKERS", workers)):
        _export(name, value)
    settings = read_settings()
    limit_threads(settings.kernel_threads)
    from service.logs import configure_logs
    from service.supervisor.supervisor import supervise

    configure_logs(settings.log_level, settings.log_format)
    leave_now(supervise(settings))

"""Every setting of the service, read from `SHORTLIST_*` variables."""

from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from models.words import RetrieverName
from service.live.settings import LiveSettings

MIB = 1 << 20
LOCAL_COPIES = Path("bundle-copies")
"""Where versions are copied to when BUNDLES is a URL."""


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a log line looks."""

    JSON = "json"
    CONSOLE = "console"


class Settings(LiveSettings):
    """Settings of one API process; units stand in the names."""

    model_config = SettingsConfigDict(env_prefix="SHORTLIST_", env_ignore_empty=True, frozen=True, extra="ignore")

    bundle_poll_s: float = Field(
        default=1.0,
        gt=0,
        description="How often CURRENT is looked at, in seconds; a new version is loaded beside the old.",
    )
    remote_bundles: str | None = Field(
        default=None,
        description="s3://, gs:// or file:// root that BUNDLES is kept like; a URL in BUNDLES means this one.",
    )
    remote_poll_s: float = Field(
        default=30.0, gt=0, description="How often the remote CURRENT is looked at, in seconds, give or take a half."
    )
    remote_keep: int = Field(default=2, ge=0, description="Newest copies that stay in BUNDLES; older ones are deleted.")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="TCP port to listen on; 0 = any free one.")
    workers: int = Field(default=1, ge=1, le=64, description="Number of API processes.")
    default_retriever: RetrieverName = Field(
        default=RetrieverName.TGH_2, description="Who answers `auto` where no experiment decides."
    )
    deadline_ms: float = Field(
        default=100.0,
        ge=1,
        le=60_000,
        description="Time a request may take, in milliseconds, unless it says otherwise.",
    )
    search_threads: int = Field(
        default=2, ge=1, le=256, description="Threads that run retrievers which search (all but tgh-1, tgh-2, popular)."
    )
    search_queue: int = Field(
        default=64, ge=1, description="Searches that may wait or run at once; one more falls back with reason `full`."
    )
    kernel_threads: int = Field(
        default=1, ge=1, le=256, description="Threads inside one search or encoding (FAISS, BLAS, numba, ONNX Runtime)."
    )
    max_body_bytes: int = Field(default=2 * MIB, ge=1024, description="Largest request body, in bytes.")
    body_timeout_s: float = Field(
        default=10.0, gt=0, description="Time a client has to send its headers, and then its body, in seconds."
    )
    keep_alive_s: int = Field(default=65, ge=1, description="How long an idle connection is kept, in seconds.")
    drain_timeout_s: int = Field(
        default=20, ge=0, description="How long requests in flight may take after SIGTERM, in seconds."
    )
    trusted_proxies: str = Field(
        default="", description="Addresses whose X-Forwarded-For is believed, comma-separated; empty = none."
    )
    rate_limit_per_s: float = Field(
        default=0.0,
        ge=0,
        description="Requests a second that one client address may make of one process; 0 = no limit.",
    )
    rate_burst: int = Field(
        default=100, ge=1, description="Requests that one client may make at once before the limit."
    )
    docs: bool = Field(default=True, description="Serve /docs and /openapi.json.")
    page: bool = Field(default=True, description="Serve the storefront page at /.")
    access_log: bool = Field(default=False, description="Log one line a request.")
    log_level: LogLevel = Field(default=LogLevel.INFO, description="Least level that is logged.")
    log_format: LogFormat = Field(default=LogFormat.JSON, description="`json` for machines, `console` for people.")

    @model_validator(mode="before")
    @classmethod
    def _follow_url(cls, values: Any) -> Any:
        given = values.get("bundles") if isinstance(values, dict) else None
        if isinstance(given, str) and "://" in given:
            return {**values, "remote_bundles": given, "bundles": LOCAL_COPIES}
        return values

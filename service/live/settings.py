"""Settings of the live parts; `service.settings.Settings` inherits them."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

DAY_S = 24 * 3600


class SinkFormat(StrEnum):
    """What a full sink file becomes."""

    JSONL = "jsonl"
    PARQUET = "parquet"


class Scope(StrEnum):
    """What a key may do; each is granted by itself, `admin` grants all."""

    READ = "read"
    EVENTS = "events"
    WRITE = "write"
    ADMIN = "admin"


class ApiKey(BaseModel):
    """One key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: SecretStr = Field(min_length=16, description="Sent as `Authorization: Bearer KEY` or `X-API-Key: KEY`.")
    scopes: frozenset[Scope] = Field(min_length=1, description="What it may do.")


class LiveSettings(BaseSettings):
    """Redis, histories, experiments, sinks, worker, access."""

    bundles: Path = Field(default=Path("bundles"), description="Folder of bundles; its CURRENT names the one served.")
    redis_url: SecretStr | None = Field(
        default=None,
        description="redis://, rediss:// or unix://, of a Redis Cluster redis+cluster:// or rediss+cluster:// with one "
        "host:port or several between commas; absent = `shortlist serve` starts a server of its own.",
    )

    @field_validator("redis_url")
    @classmethod
    def _known_address(cls, url: SecretStr | None) -> SecretStr | None:
        """Told at the start, not by each process that would connect."""
        text = "" if url is None else url.get_secret_value()
        scheme = text.partition("://")[0]
        if scheme.endswith("+cluster"):
            from service.redis.cluster import read_address

            read_address(text)
        elif text and scheme not in ("redis", "rediss", "unix"):
            raise ValueError("an address that begins with redis://, rediss://, unix:// or redis+cluster://")
        return url

    redis_maxmemory_mb: int = Field(
        default=512, ge=16, description="Memory of the embedded Redis; beyond it the histories used longest ago leave."
    )
    data_dir: Path | None = Field(
        default=None,
        description="Folder of the embedded Redis, the sinks and the sinks' key; absent = BUNDLES with `-live` added.",
    )
    history_limit: int = Field(default=200, ge=1, le=10_000, description="Newest events kept a user.")
    history_ttl_s: int = Field(
        default=90 * DAY_S, ge=1, description="A history leaves this long after its last event, in seconds."
    )
    history_timeout_ms: float = Field(
        default=50.0, gt=0, description="The longest a request waits for its history, in milliseconds."
    )
    event_weights: dict[str, float] = Field(
        default={}, description="Weight by event type, a JSON object; an event of weight 0 does not enter histories."
    )
    experiments: Path | None = Field(
        default=None, description="File of experiments, TOML or JSON; read again on change."
    )
    sink_dir: Path | None = Field(default=None, description="Folder of exposures and events; absent = DATA_DIR/sinks.")
    sink_format: SinkFormat = Field(default=SinkFormat.JSONL, description="What a full sink file becomes.")
    sink_keep_s: float = Field(default=90.0 * DAY_S, gt=0, description="Closed sink files are deleted after this time.")
    sink_stream_length: int = Field(default=100_000, ge=100, description="Records kept in each Redis stream.")
    sink_stream_mb: int = Field(
        default=64, ge=1, description="Memory of each Redis stream, in MiB; long records make it shorter."
    )
    sink_key: SecretStr | None = Field(
        default=None, description="Key of the users' hashes in sinks; absent = a random one kept in DATA_DIR."
    )
    api_keys: tuple[ApiKey, ...] = Field(
        default=(), description='JSON list of {"key": ..., "scopes": ["read", "events", "write", "admin"]}.'
    )
    admin_key: SecretStr | None = Field(
        default=None, min_length=16, description="Key of /admin, at least 16 characters; absent = no /admin."
    )
    cors_origins: tuple[str, ...] = Field(default=(), description="JSON list of origins whose pages may call the API.")
    admin_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Serve /metrics (without a key) and /admin on this port of ADMIN_HOST only.",
    )
    admin_host: str = Field(default="127.0.0.1", description="Address of the admin port.")
    gr_workers: int = Field(default=1, ge=0, le=64, description="GR workers that `shortlist serve` starts.")
    gr_max_batch: int = Field(default=32, ge=1, le=1024, description="Requests that a worker decodes at once.")
    gr_max_wait_ms: float = Field(
        default=2.0, ge=0, description="How long a request waits for companions of its batch, in milliseconds."
    )
    gr_reserve_ms: float = Field(
        default=10.0, ge=0, description="Kept of a request's deadline for the fallback after gr, in milliseconds."
    )
    gr_threads: int = Field(default=0, ge=0, le=256, description="Threads of a worker's decoder; 0 = every core.")
    gr_health_port: int | None = Field(
        default=None, ge=0, le=65535, description="`shortlist worker` serves /readyz and /metrics on this port."
    )
    run_dir: Path | None = Field(
        default=None, description="Folder of the sockets between the processes; set by the supervisor."
    )
    tracing: bool = Field(default=False, description="OpenTelemetry traces, set up by the OTEL_* variables.")

    @property
    def data(self) -> Path:
        """Folder of what this service keeps besides bundles."""
        return self.data_dir or self.bundles.with_name(f"{self.bundles.name}-live")

    @property
    def metrics_socket(self) -> Path | None:
        """Where the supervisor answers with everybody's metrics."""
        return None if self.run_dir is None else self.run_dir / "metrics.sock"

    @property
    def sinks(self) -> Path:
        """Folder of the sinks."""
        return self.sink_dir or self.data / "sinks"

"""What a mirror says of itself: a small file in its cache, read by the processes that serve from there."""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Self

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

STATE = ".mirror.json"

log = structlog.get_logger(__name__)


class MirrorState(BaseModel):
    """How following goes.

    Attributes:
        version: the one that the remote `CURRENT` named when it was last read, None = it never was.
        last_success_s: when the cache was last found or made like the remote root, in Unix time; 0 = never.
        failing_since_s: when the first of the present row of failures was, in Unix time; 0 = the last look succeeded.
    """

    model_config = ConfigDict(frozen=True)

    version: str | None = None
    last_success_s: float = 0.0
    failing_since_s: float = 0.0

    @classmethod
    def read(cls, cache: Path) -> Self:
        """What the mirror of a cache said last; the defaults where there is none, or what it left is unreadable."""
        with contextlib.suppress(OSError, ValidationError):
            return cls.model_validate_json((cache / STATE).read_bytes())
        return cls()

    def write(self, cache: Path) -> None:
        """Replace the file; a disk that refuses is logged, and the time of the last success grows old by itself."""
        draft = cache / f"{STATE}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            cache.mkdir(parents=True, exist_ok=True)
            draft.write_text(self.model_dump_json())
            draft.replace(cache / STATE)
        except OSError as error:
            log.warning("state of the mirror not written", reason=str(error))
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    def succeeded(self, version: str, now_s: float) -> "MirrorState":
        """After a look that ended well."""
        return MirrorState(version=version, last_success_s=now_s)

    def failed(self, version: str | None, now_s: float) -> "MirrorState":
        """After a look that did not; without a version, `CURRENT` could not be read."""
        since = self.failing_since_s or now_s
        return MirrorState(version=version or self.version, last_success_s=self.last_success_s, failing_since_s=since)

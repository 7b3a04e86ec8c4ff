"""Bundles from elsewhere, for a service: `python -m service.mirror` keeps BUNDLES like REMOTE_BUNDLES until SIGTERM.

A process of its own: fetching and checksums take no time from requests, and API and worker processes only ever see
a local folder whose CURRENT changes.
"""

import random
import signal
import sys
import threading

import structlog

from models.bundle.mirror import Mirror, MirrorConfig
from models.bundle.remote import Remote
from models.errors import ConfigError, ShortlistError
from service.logs import configure_logs
from service.settings import Settings


def mirror_of(settings: Settings) -> Mirror:
    """The mirror that the settings describe.

    Raises:
        ConfigError: no remote root is configured, or its scheme is unknown.
        MissingExtraError: the client of its scheme is not installed.
    """
    if settings.remote_bundles is None:
        raise ConfigError(
            "SHORTLIST_REMOTE_BUNDLES",
            found="nothing",
            expected="s3://, gs:// or file:// root of bundles",
            remedy="Set it, or start without a mirror.",
        )
    config = MirrorConfig(every_s=settings.remote_poll_s, keep=settings.remote_keep)
    return Mirror(Remote.open(settings.remote_bundles), settings.bundles, config, generator=random.Random())


def main() -> None:
    """Follow until SIGTERM or SIGINT; a fetch in progress is left behind and swept by the next one."""
    settings = Settings()
    configure_logs(settings.log_level, settings.log_format)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        mirror = mirror_of(settings)
    except ShortlistError as error:
        structlog.get_logger(__name__).error("no mirror", reason=str(error))
        sys.exit(error.exit_code)
    threading.Thread(target=mirror.run, args=(stop,), daemon=True).start()
    stop.wait()


if __name__ == "__main__":
    main()

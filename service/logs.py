"""Structured logs: one line an event, on standard error, JSON for machines or plain for people."""

import logging
import sys

import structlog
from structlog.typing import Processor

from service.settings import LogFormat, LogLevel

SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logs(level: LogLevel, form: LogFormat) -> None:
    """Send structlog's and the standard library's events to one handler."""
    json = form is LogFormat.JSON
    console = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer: Processor = structlog.processors.JSONRenderer() if json else console
    tail: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if json:
        tail.append(structlog.processors.format_exc_info)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=list(SHARED), processors=[*tail, renderer])
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("faiss.loader").setLevel(logging.WARNING)  # it tells of every build that this machine lacks
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )

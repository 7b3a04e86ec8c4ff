"""`shortlist worker`: generative retrieval in a process of its own."""

import os
from typing import Annotated

import typer

from models.words import RetrieverName
from service.commands.serve import Bundles, _export, read_settings
from service.supervisor.launch import leave_now, leave_on_sigterm

STUCK_EXIT_CODE = 70
Retriever = Annotated[RetrieverName, typer.Option(help="Which retriever of the bundle the queue decodes.")]


def _use_threads(threads: int) -> None:
    """Before any numeric library is imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(threads or os.cpu_count() or 1)


def worker(bundles: Bundles = None, retriever: Retriever = RetrieverName.GR) -> None:
    """Decode what API processes ask for over Redis (SHORTLIST_REDIS_URL); several workers may run side by side.

    SIGTERM finishes what is queued and exits 0; a batch that does not end exits 70.
    """
    leave_on_sigterm()
    _export("BUNDLES", bundles)
    settings = read_settings()
    if settings.redis_url is None:
        raise typer.BadParameter("set SHORTLIST_REDIS_URL, or let `shortlist serve` start the workers")
    _use_threads(settings.gr_threads)
    import asyncio

    from service.logs import configure_logs
    from service.worker.process import work
    from service.worker.worker import StuckError

    configure_logs(settings.log_level, settings.log_format)
    try:
        asyncio.run(work(settings, retriever))
    except StuckError as error:
        typer.echo(f"error: {error}", err=True)
        leave_now(STUCK_EXIT_CODE)
    leave_now()

"""The state of one API process: what is loaded, what it talks to, and its start and end."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import structlog

from models.bundle import versions
from models.errors import BundleError
from models.words import FallbackReason
from service.chain import Chain
from service.edge import ExchangeObserver, Gate
from service.engine import Engine, open_engine
from service.gently import gently
from service.ports import ExposureSink, Generator, HistoryStore, Router
from service.problems import unavailable
from service.search_pool import SearchPool
from service.settings import Settings

RETRY_S = 30.0
"""A version that was refused is tried again after this time, should the disk have been at fault."""

log = structlog.get_logger(__name__)


class Runtime:
    """Typed state of the application.

    Args:
        settings: all settings.

    Attributes:
        engine: the bundle that answers, None = none is loaded; replaced as a whole.
        refusal: why the newest bundle was refused, None = it was not.
        chain: who answers instead of whom.
        history, router, exposures: ports, None = absent.
        on_refusal: called when a bundle is refused for a new reason (metrics).
        on_engine: called with a new engine before it serves (stock).
        before_swap: awaited with an engine that is about to serve (its worker).
        on_swap: called with an engine that began to serve (metrics).
        shadows: second bundles by version, each served to the variants that name it.
        gates: asked before any work whether a request may pass.
        observers: told of every finished exchange.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine: Engine | None = None
        self.refusal: str | None = None
        self.chain = Chain(SearchPool(threads=settings.search_threads, limit=settings.search_queue))
        self.history: HistoryStore | None = None
        self.router: Router | None = None
        self.exposures: ExposureSink | None = None
        self.on_refusal: list[Callable[[], None]] = []
        self.on_engine: list[Callable[[Engine], None]] = []
        self.before_swap: list[Callable[[Engine], Awaitable[None]]] = []
        self.on_swap: list[Callable[[Engine], None]] = []
        self.shadows: dict[str, Engine] = {}
        self.gates: list[Gate] = []
        self.observers: list[ExchangeObserver] = []
        self._refused: tuple[str | None, float] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._loading = asyncio.Lock()

    def use_generator(self, generator: Generator) -> None:
        """Let `gr` be answered by a worker."""
        self.chain.generator = generator

    def require_engine(self) -> Engine:
        """The engine.

        Raises:
            ProblemError: 503, no bundle is loaded.
        """
        if self.engine is None:
            raise unavailable("No bundle is loaded.", reason=FallbackReason.BUNDLE, retry_after_s=5)
        return self.engine

    async def start(self) -> None:
        """Try to load the current bundle, then keep watching for a newer one."""
        await self.refresh()
        self._watch = asyncio.create_task(self._watch_current(), name="bundle watch")

    async def shutdown(self) -> None:
        """Stop watching and searching; what is in flight was finished by the server before."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        self.chain.pool.shutdown()

    async def refresh(self, *, forced: bool = False) -> None:
        """Load what CURRENT names unless it serves already; a bundle that fails is refused and the old one stays.

        Args:
            forced: try a version again that was refused a moment ago.
        """
        async with self._loading:
            await self._refresh(forced)

    async def _refresh(self, forced: bool) -> None:
        try:
            version = await asyncio.to_thread(versions.current, self.settings.bundles)
            if self.engine is not None and version == self.engine.version:
                self.refusal = self._refused = None
            elif forced or not self._still_refused(version):
                await self._load(version)
        except (BundleError, OSError) as error:
            self._refuse(None, error)

    async def _load(self, version: str | None) -> None:
        started = time.perf_counter()
        try:
            engine = await self.open(version)
        except (BundleError, OSError) as error:
            self._refuse(version, error)
            return
        self.attach(engine)
        for companion in self.before_swap:
            await companion(engine)
        self.engine, self.refusal, self._refused = engine, None, None
        for notice in self.on_swap:
            notice(engine)
        log.info("bundle serves", bundle=engine.version, items=engine.bundle.n_items, took_s=_since(started))

    async def open(self, version: str | None) -> Engine:
        """Open a bundle, gently where one serves already. Threads that ONNX Runtime starts for more than one in an
        encoding would stay as nice, so then it is not gently.

        Raises:
            BundleError: it is refused.
        """
        if self.engine is None or self.settings.kernel_threads > 1:
            return await asyncio.to_thread(open_engine, self.settings.bundles, version=version)
        return await gently(open_engine, self.settings.bundles, version=version)

    def attach(self, engine: Engine) -> None:
        """Join an engine with what outlives it, before it serves."""
        for prepare in self.on_engine:
            prepare(engine)

    def _still_refused(self, version: str | None) -> bool:
        if self._refused is None:
            return False
        refused, when = self._refused
        return refused == version and version is not None and time.monotonic() - when < RETRY_S

    def _refuse(self, version: str | None, error: Exception) -> None:
        if str(error) != self.refusal:
            log.error("bundle refused", bundle=version, reason=str(error))
            for told in self.on_refusal if version is not None else ():
                told()
        self.refusal, self._refused = str(error), (version, time.monotonic())

    async def _watch_current(self) -> None:
        while True:
            await asyncio.sleep(self.settings.bundle_poll_s)
            try:
                await self.refresh()
            except Exception:
                log.exception("looking for a new bundle failed")


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)

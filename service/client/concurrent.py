"""The client for event loops (asyncio, trio)."""

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Self, Unpack

import anyio
import httpx

from service.client import calls
from service.client.answers import Item, Recommendation, SearchPage, SeenItem
from service.client.blocking import because, request_headers
from service.client.calls import Call, Event, RecommendQuery
from service.client.errors import ServiceError
from service.client.policy import Outcome, Pause, Policy, Reply, Try, conversation


class AsyncShortlistClient:
    """`ShortlistClient` with coroutines; the same arguments and errors."""

    def __init__(
        self,
        base_url: str,
        *,
        fallback: Sequence[str] = (),
        api_key: str | None = None,
        policy: Policy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._fallback = tuple(fallback)
        self._policy = policy or Policy()
        self._http = httpx.AsyncClient(
            base_url=base_url, headers=request_headers(api_key), transport=transport, timeout=None
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the kept connections."""
        await self._http.aclose()

    async def recommend(self, *, retriever: str | None = None, **query: Unpack[RecommendQuery]) -> Recommendation:
        """Candidates; with a fallback list, an answer in any case but a wrong request."""
        try:
            return calls.read(await self._do(calls.recommend(retriever, query)), Recommendation)
        except ServiceError as error:
            if error.is_callers_fault or not self._fallback:
                raise
            return calls.instead(query, self._fallback, error)

    async def send_events(self, *events: Event) -> None:
        """Appends events to the histories of their users; safe to repeat."""
        await self._do(calls.send_events(events))

    async def item(self, item_id: str) -> Item:
        """One item of the catalogue."""
        return calls.read(await self._do(calls.item(item_id)), Item)

    async def search(self, q: str = "", *, cursor: str | None = None, limit: int | None = None) -> SearchPage:
        """Items that hold the words; no words = all, most popular first."""
        return calls.read(await self._do(calls.search(q, cursor, limit)), SearchPage)

    async def history(self, user_id: str) -> list[SeenItem]:
        """What the service keeps of a user, oldest first."""
        return calls.read_history(await self._do(calls.history(user_id)))

    async def forget(self, user_id: str) -> None:
        """Erases a user's history."""
        await self._do(calls.forget(user_id))

    async def set_available(self, item_id: str, available: Literal["in stock", "out of stock"]) -> None:
        """Takes an item out of every list, or lets it in again."""
        await self._do(calls.set_available(item_id, available))

    async def _do(self, call: Call) -> Reply:
        talk = conversation(self._policy)
        outcome: Outcome = None
        try:
            while True:
                step = talk.send(outcome)
                outcome = await self._step(call, step)
        except StopIteration as end:
            reply: Reply = end.value
            return reply

    async def _step(self, call: Call, step: Try | Pause) -> Outcome:
        if isinstance(step, Try):
            return await self._try(call, step.timeout_s)
        await anyio.sleep(step.seconds)
        return None

    async def _try(self, call: Call, timeout_s: float) -> Reply | ServiceError:
        try:
            with anyio.fail_after(timeout_s):
                response = await self._http.request(call.method, call.path, params=call.params, content=call.content)
        except TimeoutError as error:
            return because("timeout", error)
        except httpx.HTTPError as error:
            return because("no answer", error)
        return Reply(response.status_code, dict(response.headers), response.content)

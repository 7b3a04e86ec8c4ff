"""Visitors: they look at items, get recommendations, follow some of them, and their events are told to the service."""

import json
import random
import uuid
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import quote

from locust import FastHttpUser, task

from loadtest.storefront.plan import AUTO, Plan
from loadtest.storefront.tallies import Tallies, fault

LONGEST_VISIT = 12
CONNECTION_TIMEOUT_S = 10.0


class Visitor(FastHttpUser):
    """One browser at a time: a new visit, by the same or another person, begins when one ends.

    Attributes:
        plan: what decides a visit; set before users are spawned.
        tallies: counts what the answers said.
    """

    plan: ClassVar[Plan]
    tallies: ClassVar[Tallies]
    connection_timeout = network_timeout = CONNECTION_TIMEOUT_S
    chance: random.Random

    def on_start(self) -> None:
        """A generator of its own, from Locust's seeded one."""
        self.chance = random.Random(random.random())

    def wait_time(self) -> float:
        """Thinking, exponential, in seconds."""
        return self.chance.expovariate(1 / self.plan.think_s)

    @task
    def visit(self) -> None:
        """From the first item to the last click."""
        person, session, seen = self.plan.visitor(self.chance), uuid.uuid4().hex, list[str]()
        self._recommend(person, session, seen)
        item: str | None = self.plan.items.draw(self.chance)
        while item is not None and len(seen) < LONGEST_VISIT:
            self._view(item)
            seen.append(item)
            self._tell(person, item, "view")
            self.wait()
            shown = self._recommend(person, session, seen)
            if self.chance.random() < self.plan.mix.buys:
                self._tell(person, item, "purchase")
            item = self.plan.click(shown, self.chance)

    def _view(self, item: str) -> None:
        self.client.get(f"/items/{quote(item, safe='')}", name="GET /items/{id}")

    def _tell(self, person: str, item: str, event: str) -> None:
        now = datetime.now(UTC).isoformat()
        body = {"event_id": uuid.uuid4().hex, "user_id": person, "item_id": item, "timestamp": now, "event": event}
        self.client.post("/events", json=body, name="POST /events")

    def _recommend(self, person: str, session: str, seen: list[str]) -> list[str]:
        """The ids of the list; none where there was no answer."""
        retriever = self.plan.retriever(self.chance)
        body: dict[str, Any] = {"user_id": person, "session_id": session, "k": self.plan.k}
        if seen and self.chance.random() < self.plan.mix.in_body:
            body["history"] = seen
        path = "/recommend" if retriever == AUTO else f"/recommend/{quote(retriever, safe='')}"
        with self.client.post(path, json=body, name="recommend, failed", catch_response=True) as answer:
            if answer.status_code != 200 or answer.content is None:
                answer.failure(f"status {answer.status_code}")
                return []
            document = json.loads(answer.content)
            answer.request_meta["name"] = f"recommend, {document['retriever']['served']}"
            self.tallies.note(document)
            wrong = fault(document, self.plan.k, self.plan.n_items)
            if wrong is not None:
                answer.failure(wrong)
            return [item["item_id"] for item in document["items"]]

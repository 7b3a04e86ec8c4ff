"""A typed client of the service for Python: `ShortlistClient`, and `AsyncShortlistClient` for event loops.

    with ShortlistClient("https://shortlist.example", fallback=["B004756YJA"]) as shortlist:
        for item in shortlist.recommend(user_id="u1", k=12).items:
            ...

A call keeps to `Policy.timeout_s`, retries included. With a `fallback` list, `recommend` then answers with that list
and says why in `degraded`; without one it raises `ServiceError`. What the caller got wrong (400 to 422) always raises:
a fallback would hide the mistake. The client imports nothing of the server, only httpx and pydantic.
"""

from service.client.answers import Degraded, Item, ListedItem, Recommendation, SearchPage, SeenItem
from service.client.blocking import ShortlistClient
from service.client.calls import Event, RecommendQuery
from service.client.concurrent import AsyncShortlistClient
from service.client.errors import ServiceError
from service.client.policy import Policy

__all__ = [
    "AsyncShortlistClient",
    "Degraded",
    "Event",
    "Item",
    "ListedItem",
    "Policy",
    "RecommendQuery",
    "Recommendation",
    "SearchPage",
    "SeenItem",
    "ServiceError",
    "ShortlistClient",
]

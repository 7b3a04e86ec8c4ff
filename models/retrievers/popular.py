"""`popular`: the most bought items, whatever the history."""

from collections.abc import Sequence

from models.bundle import layout
from models.bundle.reader import Bundle
from models.popular import Popular, most_popular
from models.retrieval import Candidates, Query
from models.words import RetrieverName

REQUIRES = (layout.POPULARITY, layout.POPULAR_ORDER)


class PopularRetriever:
    """Score: percentile rank of popularity in the training interactions."""

    def __init__(self, bundle: Bundle, name: RetrieverName = RetrieverName.POPULAR) -> None:
        self.name, self._popular = name, Popular.open(bundle)

    def retrieve(self, query: Query) -> Candidates:
        """The k most popular items that may be returned."""
        return most_popular(self._popular, query)

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> PopularRetriever:  # noqa: A001
    """The retriever."""
    return PopularRetriever(bundle, name)

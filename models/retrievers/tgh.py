"""`tgh-1` and `tgh-2`: the transition graph heuristic (arXiv 2605.07125) as retrievers."""

from collections.abc import Sequence

from models.bundle.reader import Bundle
from models.retrieval import Candidates, Query
from models.tgh import REQUIRES, Tgh
from models.words import RetrieverName

__all__ = ["REQUIRES", "TghRetriever", "open"]


class TghRetriever(Tgh):
    """A lookup and a merge a query, so a batch is one query after another."""

    def retrieve_batch(self, queries: Sequence[Query]) -> list[Candidates]:
        """One list a query."""
        return [self.retrieve(query) for query in queries]


def open(bundle: Bundle, name: RetrieverName) -> TghRetriever:  # noqa: A001
    """The retriever of that name."""
    return TghRetriever(bundle, name)

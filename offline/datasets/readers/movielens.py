"""MovieLens-1M (GroupLens): `ratings.dat` and `movies.dat`, fields between `::`, Latin-1.

Every rating counts. The heuristic paper drops films with fewer than five ratings, fixes the catalogue, and then keeps
a user's newest 100 ratings, so that the catalogue holds films that no sequence holds any more.
"""

from offline.datasets.delimited import plain_rows
from offline.datasets.names import latin_rows
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace


def read(work: Workspace) -> None:
    """Ratings, and films with their genres as category paths of one level."""
    ratings = plain_rows(work, "ratings", "ratings", ("person", "film", "stars", "time"), delimiter="::")
    write_interactions(work, ratings, user="person", item="film", timestamp="try_cast(time as bigint)", rating="stars")
    films = latin_rows(work, "films", "films", ("id", "title", "genres"), delimiter="::")
    genres = "list_transform(list_filter(string_split(genres, '|'), lambda g: g <> ''), lambda g: [g])"
    write_items(work, films, item="id", columns={"title": "tidy(title)", "categories": genres})

"""Goodreads by genre (Wan & McAuley): `goodreads_interactions_*`, `goodreads_books_*`, `goodreads_book_authors`.

JSON lines; dates look like `Sun Jul 30 07:44:10 -0700 2017`. The heuristic paper keeps ratings of 4 and 5 (0 means
shelved, not rated), orders by `date_added`, collapses a book that follows itself, drops books with fewer than five of
what is left, and then users with fewer than five; it does not repeat that. Books count as described when they have a
title, an author, a publisher, a year or a description.
"""

from offline.datasets.documents import json_documents
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

INTERACTIONS = {"user_id": "VARCHAR", "book_id": "VARCHAR", "rating": "DOUBLE", "date_added": "VARCHAR"}

BOOKS = {
    "book_id": "VARCHAR",
    "title": "VARCHAR",
    "authors": [{"author_id": "VARCHAR"}],
    "publisher": "VARCHAR",
    "publication_year": "VARCHAR",
    "description": "VARCHAR",
    "average_rating": "DOUBLE",
    "ratings_count": "BIGINT",
}

DATE = "%a %b %d %H:%M:%S %z %Y"


def read(work: Workspace) -> None:
    """Rated books; the authors' names, joined, stand as the brand."""
    shelved = json_documents(work, "interactions", "shelved", INTERACTIONS)
    write_interactions(
        work,
        shelved,
        user="doc.user_id",
        item="doc.book_id",
        timestamp=f"epoch(try_strptime(doc.date_added, '{DATE}'))::bigint",
        rating="doc.rating",
        where="doc.rating is distinct from 0",
    )
    authors = json_documents(work, "authors", "authors", {"author_id": "VARCHAR", "name": "VARCHAR"})
    books = json_documents(work, "books", "books", BOOKS)
    work.con.execute(f"create or replace table bylines as {BYLINES}; drop table {authors.table}")
    byline = "(select byline from bylines where bylines.row = books.row)"
    described = "concat(tidy(doc.title), tidy(doc.publisher), tidy(doc.publication_year), tidy(doc.description))"
    write_items(
        work,
        books,
        item="doc.book_id",
        columns={
            "title": "tidy(doc.title)",
            "brand": byline,
            "description": "tidy(doc.description)",
            "rating_avg": "doc.average_rating",
            "rating_count": "doc.ratings_count",
        },
        where=f"{described} <> '' or {byline} is not null",
    )
    work.con.execute("drop table bylines")


BYLINES = """
with written as (select row, unnest(doc.authors).author_id as author_id, generate_subscripts(doc.authors, 1) as place
                 from books),
     named as (select doc.author_id as author_id, any_value(tidy(doc.name)) as name from authors group by all)
select row, string_agg(name, ', ' order by place) as byline
from written join named using (author_id) where name is not null group by row
"""
"""Authors of each book in the book's own order; authors without a name are passed over."""

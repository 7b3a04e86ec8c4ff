"""MIND-small (Microsoft News): `behaviors.tsv` of the dev part, `news.tsv` of both parts.

A row of `behaviors.tsv` is an impression: the articles that the user had clicked before (`history`, oldest first)
and those shown now, each with 1 for a click. The heuristic paper takes, a user, the history of the latest impression
and then the clicks in order of their impressions, an article once (the first time), articles with a title only, and
sequences of three and more; no core, no truncation.

A history carries no times: its articles get the time of the user's first impression here, and the row order, which is
kept, orders them before the clicks. `news.tsv` is read without quoting; the paper's code reads it with quoting, where
a title that begins with a quotation mark can swallow lines, so counts may differ by a few articles.
"""

from collections.abc import Collection
from functools import partial

from offline.datasets.delimited import plain_rows
from offline.datasets.rejects import Line, Reason
from offline.datasets.staging import Staged, count_rejects, write_interactions, write_items
from offline.datasets.workspace import Workspace

BEHAVIOURS = ("impression", "person", "time", "history", "shown")
NEWS = ("id", "category", "subcategory", "title", "abstract", "url", "title_entities", "abstract_entities")

TIMED = r"""
create or replace table timed as
select row, person, epoch(try_strptime(time, '%m/%d/%Y %I:%M:%S %p'))::bigint as moment,
       regexp_extract_all(coalesce(history, ''), '\S+') as history,
       list_transform(list_filter(regexp_extract_all(coalesce(shown, ''), '\S+'), lambda s: ends_with(s, '-1')),
                      lambda s: s[:-3]) as clicked
from behaviours
"""

CLICKS = """
create or replace table clicks as
with latest as (select person, min(moment) as moment, arg_max(row, (moment, -row)) as row
                from timed where moment is not null group by person),
     parts as (select latest.person, latest.moment, latest.row as impression, 0 as part,
                      unnest(history) as item, generate_subscripts(history, 1) as place
               from latest join timed using (row)
               union all
               select person, moment, row, 1, unnest(clicked), generate_subscripts(clicked, 1)
               from timed where moment is not null)
select row_number() over (order by person, part, moment, impression, place) as row, person, item, moment, impression
from parts
"""
"""Part 0 is the history of the latest impression, the first in the file among equals; part 1 are the clicks."""


def read(work: Workspace) -> None:
    """Clicks and articles; an article's categories are `category > subcategory`."""
    behaviours = plain_rows(work, "behaviours", "behaviours", BEHAVIOURS, delimiter="\t")
    work.con.execute(TIMED)
    count_rejects(work, behaviours, Reason.NO_TIMESTAMP, "moment is null", table="timed")
    work.con.execute(CLICKS)
    clicks = Staged("clicks", behaviours.file, partial(_locate, work, behaviours))
    write_interactions(work, clicks, user="person", item="item", timestamp="moment")
    work.con.execute("drop table timed; drop table behaviours")
    _read_news(work)


def _read_news(work: Workspace) -> None:
    news = plain_rows(work, "train_news", "news", NEWS, delimiter="\t")
    more = plain_rows(work, "dev_news", "more_news", NEWS, delimiter="\t")
    last = work.number("select coalesce(max(row), 0) from news")
    work.con.execute(
        f"insert into news select {last} + row, * exclude (row) from more_news where id not in (select id from news)"
    )
    work.con.execute(f"drop table {more.table}")
    write_items(
        work,
        news,
        item="id",
        columns={
            "title": "tidy(title)",
            "categories": "[list_filter([category, subcategory], lambda n: tidy(n) is not null)]",
            "description": "tidy(abstract)",
        },
        where="tidy(title) is not null",
    )


def _locate(work: Workspace, behaviours: Staged, rows: Collection[int]) -> list[Line]:
    chosen = ", ".join(str(row) for row in rows)
    found = work.con.execute(
        f"select distinct impression from clicks where row in ({chosen}) order by impression"
    ).fetchall()
    return behaviours.locate([impression for (impression,) in found])

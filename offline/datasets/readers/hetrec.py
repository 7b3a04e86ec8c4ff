"""HetRec 2011 Delicious and Last.fm (Cantador et al.): tagging events as interactions.

Neither release logs visits or plays with a time, so a tagging event stands for an interaction: a user and an item
once, at the earliest tagging. The tags that at least five people use become the items' categories. Names are UTF-8
in most lines and Latin-1 in the others.

Timestamps are the publisher's milliseconds, here cut to seconds; Last.fm's are months, and a few of them lie at or
before 1970, which is kept. The heuristic paper reads Delicious' times from `user_taggedbookmarks.dat` (day, month,
year, hour, minute, second), which holds the same moments as wall-clock time.
"""

from offline.datasets.delimited import plain_rows
from offline.datasets.names import latin_rows
from offline.datasets.readers.tags import write_item_tags
from offline.datasets.staging import Staged, write_interactions, write_items
from offline.datasets.workspace import Workspace

TAGGING = ("person", "item", "tag", "time")


def read_delicious(work: Workspace) -> None:
    """Bookmarks as items: their page titles."""
    _read(work, latin_rows(work, "bookmarks", "names", ("id", "md5", "name"), delimiter="\t", header_lines=1))


def read_lastfm(work: Workspace) -> None:
    """Artists as items: their names."""
    _read(work, latin_rows(work, "artists", "names", ("id", "name"), delimiter="\t", header_lines=1))


def _read(work: Workspace, names: Staged) -> None:
    taggings = plain_rows(work, "taggings", "taggings", TAGGING, delimiter="\t", header_lines=1)
    latin_rows(work, "tags", "tags", ("id", "name"), delimiter="\t", header_lines=1)
    write_item_tags(work)
    write_interactions(work, taggings, user="person", item="item", timestamp="try_cast(time as bigint) // 1000")
    tags = "(select categories from item_tags where item_id = id)"
    write_items(work, names, item="id", columns={"title": "tidy(name)", "categories": tags})
    work.con.execute("drop table tags; drop table item_tags")

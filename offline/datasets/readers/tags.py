"""Item categories out of tagging events: which tags say something of an item, and in which order."""

from offline.datasets.workspace import Workspace

TOP_TAGS = 5
"""Tags an item keeps, most applied first; ties by tag id."""

MIN_TAG_USERS = 5
"""Distinct users a tag needs: what one person sprays over many items says nothing of them."""

MAX_TAG_LENGTH = 40
"""Characters beyond which a tag is a sentence."""


def write_item_tags(work: Workspace) -> None:
    """Make the table `item_tags` (item_id, categories) from `taggings` (row, person, item, tag) and `tags` (id, name).

    Each tag becomes a category path of one level; a tag without a letter is left out.
    """
    work.con.execute(
        "create or replace table item_tags as with usable as ("
        "    select tags.id, tidy(name) as name from tags join taggings on taggings.tag = tags.id "
        f"   where length(tidy(name)) <= {MAX_TAG_LENGTH} and regexp_matches(name, '\\p{{L}}') "
        f"   group by tags.id, name having count(distinct taggings.person) >= {MIN_TAG_USERS}"
        "), ranked as ("
        "    select item, name, row_number() over (partition by item order by count(*) desc, tag) as place "
        "    from taggings join usable on usable.id = tag group by item, tag, name"
        f") select item as item_id, list([name] order by place) as categories from ranked where place <= {TOP_TAGS} "
        "group by item"
    )

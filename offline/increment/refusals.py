"""What an update refuses although it could be counted: it would spoil the bundle that serves."""

from collections.abc import Sequence
from pathlib import Path

from models.bundle.reader import Bundle
from models.errors import InputError
from offline.increment.counts import GONE, Renumbering
from offline.ingest.engine import Source
from offline.ingest.files import has_rows
from offline.ingest.sources import identified

LEAST_KEPT = 0.5
"""Share of the items that a catalogue must still hold."""
SMALL = 20
"""A shop of fewer items may change its catalogue as it likes."""


def check_new(base: Bundle, interactions: Sequence[Source]) -> None:
    """Refuse a file that an earlier build or update counted: a job that is run again would count a day twice.

    Raises:
        InputError: names the file.
    """
    counted = base.manifest.sections.get("inputs", {}).values()
    for source in interactions:
        for path, told in identified(source):
            if told and told in counted and has_rows(Path(path)):
                raise InputError(
                    str(path),
                    found=f"a file that bundle {base.version} holds already",
                    expected="new interactions",
                    remedy="Leave it out; after a roll back to a bundle without it, it can be given again.",
                )


def check_whole(moves: Renumbering) -> None:
    """Refuse a catalogue of changed items alone: all others would leave the bundle.

    Raises:
        InputError: more than half of the items are gone.
    """
    gone = int((moves.place == GONE).sum())
    if len(moves.place) >= SMALL and gone > (1 - LEAST_KEPT) * len(moves.place):
        raise InputError(
            "--items",
            found=f"a catalogue that lacks {gone:,} of the bundle's {len(moves.place):,} items",
            expected="the whole catalogue, also what has not changed",
            remedy="Give all items; to shrink the catalogue as much as that, build anew.",
        )

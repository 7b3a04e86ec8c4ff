"""Stock: overrides over the bundle's data, in every process, through restarts and swaps."""

import asyncio
import gc
import weakref
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from models.bundle import layout
from models.bundle.manifest import SplitInfo
from models.bundle.reader import Bundle
from models.bundle.writer import BundleWriter
from models.ids import ItemIds
from service.redis.link import LinkConfig, RedisLink
from service.stock import Stock
from tests import shop

from .conftest import until

pytestmark = pytest.mark.anyio
IDS = ("a", "b", "c")


def bundle(root: Path, *, available: list[bool] | None = None, as_of: datetime | None = None) -> Bundle:
    with BundleWriter.create(root, split=SplitInfo(), config={}) as writer:
        shop.add_ids(writer, ItemIds.from_strings(IDS))
        if available is not None:
            writer.add_array(layout.AVAILABLE, np.array(available))
        if as_of is not None:
            writer.section("stock", {"as_of": as_of.isoformat()})
        writer.publish()
    return Bundle.open(root)


def sold(mask: np.ndarray | None) -> str:
    return "".join(name for name, flag in zip(IDS, np.ones(3, bool) if mask is None else mask, strict=True) if flag)


async def test_a_flip_reaches_every_view_of_every_process(redis_url: str, tmp_path: Path) -> None:
    here, there = (
        RedisLink(LinkConfig(redis_url, timeout_s=5.0)),
        RedisLink(LinkConfig(redis_url, timeout_s=5.0)),
    )
    writer, reader = Stock(here), Stock(there)
    reader.table.start()
    await reader.table.synced.wait()
    views = [
        writer.view(bundle(tmp_path / "1")),
        reader.view(bundle(tmp_path / "2", available=[True, False, True])),
    ]
    assert [sold(view.mask) for view in views] == ["abc", "ac"]
    assert views[0].mask is None
    await writer.set_available({"a": False, "b": True, "elsewhere": False})
    assert sold(views[0].mask) == "bc"
    await until(lambda: sold(views[1].mask) == "bc", within_s=0.5)
    await writer.set_available({"a": True})
    await until(lambda: views[1].mask is None, within_s=0.5)
    await reader.table.stop()
    await here.aclose()
    await there.aclose()


async def test_an_override_outlives_processes_and_swaps_unless_the_bundle_is_newer(
    link: RedisLink, tmp_path: Path
) -> None:
    await Stock(link).set_available({"a": False})
    restarted = Stock(link)
    await restarted.table.refresh()
    now = datetime.now(UTC)
    older = bundle(tmp_path / "1", available=[True, True, False], as_of=now - timedelta(hours=1))
    newer = bundle(tmp_path / "2", available=[True, True, False], as_of=now + timedelta(hours=1))
    silent = bundle(tmp_path / "3", available=[True, True, True])
    assert [sold(restarted.view(one).mask) for one in (older, newer, silent)] == ["b", "ab", "bc"]


async def test_a_mask_that_was_given_out_is_never_written_to(link: RedisLink, tmp_path: Path) -> None:
    stock = Stock(link)
    view = stock.view(bundle(tmp_path))
    await stock.set_available({"a": False})
    given = view.mask
    assert given is not None
    assert stock.is_mask(given)
    assert not given.flags.writeable
    await stock.set_available({"b": False})
    assert sold(given) == "bc"
    assert sold(view.mask) == "c"
    assert not stock.is_mask(given)


async def test_a_view_that_nobody_holds_is_let_go(link: RedisLink, tmp_path: Path) -> None:
    stock = Stock(link)
    view = weakref.ref(stock.view(bundle(tmp_path)))
    gc.collect()
    assert view() is None
    await stock.set_available({"a": False})


async def test_concurrent_flips_of_many_processes_end_alike(redis_url: str, tmp_path: Path) -> None:
    links = [RedisLink(LinkConfig(redis_url, timeout_s=5.0)) for _ in range(3)]
    stocks = [Stock(link) for link in links]
    views = [stock.view(bundle(tmp_path / str(number))) for number, stock in enumerate(stocks)]
    await asyncio.gather(
        *(stocks[n % 3].set_available({IDS[n % 3]: n % 2 == 0, IDS[(n + 1) % 3]: n % 5 == 0}) for n in range(60))
    )
    for stock in stocks:
        await stock.table.refresh()
    assert len({sold(view.mask) for view in views}) == 1
    for link in links:
        await link.aclose()

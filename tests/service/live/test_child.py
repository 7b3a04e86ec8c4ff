"""A supervised process: given up or tried for ever, and never left behind by who leaves while it starts."""

import asyncio
import sys

import psutil
import pytest

from service.supervisor import child as supervised
from service.supervisor.child import EARLY_DEATHS, Child, Command, HopelessError

from .conftest import until

pytestmark = pytest.mark.anyio
DIES = ("/bin/false",)
STAYS = (sys.executable, "-c", "import signal; signal.pause()")
LEAVE_S = 60.0


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "FIRST_PAUSE_S", 0.0001)


async def test_a_vital_process_that_keeps_dying_is_given_up() -> None:
    deaths: list[int] = []
    with pytest.raises(HopelessError, match="dies"):
        await Child(Command("dies", DIES, vital=True), deaths.append).run()
    assert len(deaths) == EARLY_DEATHS


async def test_another_process_is_tried_for_ever() -> None:
    deaths: list[int] = []
    child = Child(Command("dies", DIES), deaths.append)
    running = asyncio.create_task(child.run())
    await until(lambda: len(deaths) > EARLY_DEATHS + 1, within_s=60)
    await child.leave(LEAVE_S)
    await running


async def test_who_leaves_while_it_starts_leaves_nothing() -> None:
    child = Child(Command("stays", STAYS))
    running = asyncio.create_task(child.run())
    await asyncio.sleep(0)  # the start is under way, and there is no process yet
    assert child.pid is None
    await child.leave(LEAVE_S)
    await running
    assert not [one for one in psutil.Process().children(recursive=True) if _stays(one)]


def _stays(one: psutil.Process) -> bool:
    try:
        return "signal.pause" in " ".join(one.cmdline())
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return False

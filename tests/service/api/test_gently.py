"""Work beside requests: its result and errors come back, and only its own thread gives way."""

import os
import sys
import threading

import pytest

from service import runtime
from service.gently import NICENESS, gently
from service.settings import Settings

pytestmark = pytest.mark.anyio


def niceness() -> tuple[int, int]:
    thread = threading.get_native_id()
    return thread, os.getpriority(os.PRIO_PROCESS, thread)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a niceness for each thread")
async def test_the_works_thread_gives_way_and_the_one_that_answers_does_not() -> None:
    here, before = niceness()
    thread, given = await gently(niceness)
    assert thread != here
    assert given == min(19, before + NICENESS)
    assert niceness() == (here, before)
    assert (await gently(niceness))[1] == given


async def test_arguments_and_errors_pass_through() -> None:
    assert await gently(int, "ff", base=16) == 255
    with pytest.raises(ValueError, match="invalid literal"):
        await gently(int, "x")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a niceness for each thread")
@pytest.mark.parametrize("threads", [1, 2])
async def test_a_second_bundle_opens_gently_unless_threads_that_stay_would_be_as_nice(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    monkeypatch.setattr(runtime, "open_engine", lambda *_, **__: opened.append(niceness()[1]))
    some = runtime.Runtime(Settings(kernel_threads=threads))
    await some.open(None)
    some.engine = object()  # type: ignore[assignment]
    await some.open(None)
    before = niceness()[1]
    assert opened == [before, min(19, before + NICENESS) if threads == 1 else before]

"""Long work beside requests, on a thread that gives way to them."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

NICENESS = 10
"""Added to the thread's: a tenth of the processor time of a thread that answers, where both want the same core. No
more, for a thread that has the interpreter must get on with it even where other programs are busy."""

P = ParamSpec("P")
R = TypeVar("R")


def _give_way() -> None:
    """Linux keeps a niceness for each thread."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + NICENESS))


async def gently(work: Callable[P, R], /, *args: P.args, **named: P.kwargs) -> R:
    """What the work returns; it runs on a thread of its own, for niceness cannot be taken back.

    Work must not start threads that outlive it: they would stay as nice.
    """
    executor = ThreadPoolExecutor(1, "gently", initializer=_give_way)
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *args, **named))
    finally:
        executor.shutdown(wait=False)

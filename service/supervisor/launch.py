"""Start a program that dies with its parent: `python -P -m service.supervisor.launch PARENT_PID PROGRAM [ARGS...]`.

It stands outside the parent's group, where Ctrl-C does not reach it. The kernel's parent-death signal survives
`execv`, so the program itself need not know. Setting it here, in a fresh process, avoids `preexec_fn`, which is unsafe
in a parent with threads. Elsewhere than on Linux no such signal is set.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def guarded(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` bound to the life of the calling process.

    Call it, and start the result, from the main thread: the signal follows the thread that started the child.
    """
    return [sys.executable, "-P", "-m", "service.supervisor.launch", str(os.getpid()), *command]


def die_with_parent(parent: int, number: int = signal.SIGTERM) -> None:
    """Ask for `number` when the parent dies, and leave at once if it is gone already."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(f"parent process {parent} is gone")


def leave_now(code: int = 0) -> NoReturn:
    """End a process that has closed all it opened, without taking the interpreter and its compilers apart: that takes
    seconds on a busy machine, and an orchestrator waits for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def leave_on_sigterm() -> None:
    """Until something is started that has to be ended in order, SIGTERM ends the process with 0."""

    def leave(_: int, __: FrameType | None) -> None:
        leave_now()

    signal.signal(signal.SIGTERM, leave)


def stand_apart() -> None:
    """Leave the parent's process group: Ctrl-C in a terminal goes to all of a group, and only the parent knows in
    which order its processes have to end. Not its session: Linux shares out the processor by sessions first, and a
    thread that is nice gives way within its own alone."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)


if __name__ == "__main__":
    stand_apart()
    die_with_parent(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])

"""Saying what goes on: bars on a terminal, plain lines elsewhere, always on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from offline.measure import Cost


class Reporter:
    """Reports jobs as they run.

    Args:
        quiet: say nothing, for tests and embedding programs.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._bar: Progress | None = None

    def say(self, line: str) -> None:
        """One plain line."""
        self._console.print(line, markup=False)

    @contextmanager
    def job(self, name: str) -> Iterator[None]:
        """Show that a job runs; a bar where somebody looks."""
        if not self._console.is_terminal:
            self.say(f"{name} ...")
            yield
            return
        columns = TextColumn("{task.description:<16}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")
        with Progress(*columns, TimeElapsedColumn(), console=self._console, transient=True) as bar:
            bar.add_task(name, total=None)
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    def step(self, done: int, total: int) -> None:
        """How far the running job is."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def counter(self, total: int) -> Callable[[int], None]:
        """For work that tells how much more is done, not how much in all."""
        done = 0

        def more(count: int) -> None:
            nonlocal done
            done += count
            self.step(done, total)

        return more

    def done(self, name: str, cost: Cost) -> None:
        """What a job took."""
        self.say(f"{name:<16} {cost.seconds:8.2f} s {cost.cpu_seconds:8.2f} s CPU {cost.peak_mib:8.0f} MiB peak")

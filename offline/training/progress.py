"""What a person sees of a training: a bar on a terminal, one line an epoch elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from offline.training.curves import Curves, Epoch


class TrainingProgress:
    """Reports on standard error.

    Args:
        quiet: say nothing.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._bar: Progress | None = None

    def say(self, line: str) -> None:
        """One plain line."""
        self.console.print(line, markup=False)

    @contextmanager
    def steps(self, total: int, done: int) -> Iterator[None]:
        """Show a bar of training steps, where somebody looks."""
        if not self.console.is_terminal:
            yield
            return
        columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
        with Progress(*columns, console=self.console) as self._bar:
            self._bar.add_task("training", total=total, completed=done)
            try:
                yield
            finally:
                self._bar = None

    def step(self, done: int, loss: float, curves: Curves) -> None:
        """After a training step."""
        if self._bar is not None:
            best, latest = curves.best(), curves.epochs[-1] if curves.epochs else None
            now = f" NDCG@10 {latest.ndcg_10:.4f}, best {best.ndcg_10:.4f}" if best and latest else ""
            self._bar.update(self._bar.task_ids[0], completed=done, description=f"loss {loss:.3f}{now}")

    def epoch(self, epoch: Epoch, curves: Curves) -> None:
        """After an epoch."""
        best = curves.best()
        measured = (
            f", validation NDCG@10 {epoch.ndcg_10:.4f} R@50 {epoch.recall_50:.4f} (best {best.ndcg_10:.4f})"
            if best and epoch.ndcg_10 == epoch.ndcg_10
            else ""
        )
        self.say(
            f"epoch {epoch.epoch}: loss dense {epoch.dense_loss:.3f} codes {epoch.generative_loss:.3f}{measured}, "
            f"{epoch.seconds:.0f} s"
        )

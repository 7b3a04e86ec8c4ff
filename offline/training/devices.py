"""Where and in which precision training runs, and its part among several processes."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from models.errors import ConfigError


class DeviceChoice(StrEnum):
    """`auto` takes a GPU where there is one."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class Place:
    """One process of a training.

    Attributes:
        device: where it computes.
        half: bfloat16 where that is fast, else float32.
        rank: which of the processes it is.
        processes: how many there are; under `torchrun` they train data-parallel.
    """

    device: torch.device
    half: torch.dtype
    rank: int = 0
    processes: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process validates, reports and writes."""
        return self.rank == 0

    def autocast(self) -> torch.autocast | nullcontext[None]:
        """Mixed precision within the block, where bfloat16 is fast."""
        if self.half is torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.half)

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, averaging gradients over all processes."""
        if self.processes == 1:
            return module
        return DistributedDataParallel(module)

    def agree(self, value: bool) -> bool:
        """What the leading process says."""
        if self.processes == 1:
            return value
        said = torch.tensor([int(value)], device=self.device)
        distributed.broadcast(said, src=0)
        return bool(said.item())


@contextmanager
def place(choice: DeviceChoice, threads: int) -> Iterator[Place]:
    """This process's place; joins the group that `torchrun` made, if any, for the time of the block.

    Raises:
        ConfigError: a GPU was asked for and there is none.
    """
    torch.set_num_threads(threads)
    device = _device(choice)
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes == 1:
        yield Place(device, _half(device))
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Place(device, _half(device), distributed.get_rank(), processes)
    finally:
        distributed.destroy_process_group()


def _device(choice: DeviceChoice) -> torch.device:
    there = torch.cuda.is_available()
    if choice is DeviceChoice.CUDA and not there:
        raise ConfigError(
            "--device", found="no CUDA device", expected="one", remedy="Use --device cpu, or a CUDA build of torch."
        )
    if choice is DeviceChoice.CPU or not there:
        return torch.device("cpu")
    local = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def _half(device: torch.device) -> torch.dtype:
    """bfloat16 on GPUs, and on CPUs where a product of matrices is measured to be faster in it."""
    if device.type == "cuda":
        return torch.bfloat16
    wide = torch.ones(512, 512)
    return torch.bfloat16 if _seconds(wide.bfloat16()) < _seconds(wide) else torch.float32


def _seconds(matrix: Tensor) -> float:
    least = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(matrix, matrix)
        least = min(least, time.perf_counter() - start)
    return least

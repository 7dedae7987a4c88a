"""Data-parallel training: each process learns from a part of the images; gradients are averaged."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, distributed, multiprocessing

from soft_arm_vision.errors import VisionError


@contextmanager
def beside(others: int, task: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Train together with other processes that run `task(*arguments)`, or alone without any.

    Args:
        others: Number of other processes.
        task: Function at the top level of a module.
        arguments: Arguments of the task.

    Raises:
        VisionError: If the task raises it in one of the processes.
    """
    if others == 0:
        yield
        return
    context = multiprocessing.get_context('spawn')
    complaints = context.SimpleQueue()
    with TemporaryDirectory() as folder:
        meeting = str(Path(folder) / 'meeting')
        processes = [
            context.Process(
                target=_run,
                args=(rank, others + 1, meeting, complaints, task, arguments),
                daemon=True,
            )
            for rank in range(1, others + 1)
        ]
        for process in processes:
            process.start()
        with _group(0, others + 1, meeting):
            try:
                yield
            except RuntimeError as error:
                if complaints.empty():
                    raise
                raise VisionError(complaints.get()) from error
        for process in processes:
            process.join()


def part() -> tuple[int, int]:
    """Return this process' number, and how many processes train together."""
    if not distributed.is_initialized():
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


def mean(values: Tensor) -> Tensor:
    """Return the mean over the processes; every process must call this."""
    return _sum(values) / part()[1]


def total(count: int) -> int:
    """Return the sum over the processes; every process must call this."""
    return int(_sum(torch.tensor([count])))


def anyone(wish: bool) -> bool:
    """Return whether any process wishes it; every process must call this."""
    return total(int(wish)) > 0


def _sum(values: Tensor) -> Tensor:
    if distributed.is_initialized():
        distributed.all_reduce(values)
    return values


@contextmanager
def _group(rank: int, count: int, meeting: str) -> Iterator[None]:
    os.environ.setdefault('GLOO_SOCKET_IFNAME', 'lo')  # all processes are on this machine
    distributed.init_process_group(
        'gloo', init_method=f'file://{meeting}', rank=rank, world_size=count
    )
    try:
        yield
    finally:
        distributed.destroy_process_group()


def _run(
    rank: int,
    count: int,
    meeting: str,
    complaints: Any,
    task: Callable[..., None],
    arguments: tuple,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it stops when the first process does
    with _group(rank, count, meeting):
        try:
            task(*arguments)
        except (
            VisionError,
            RuntimeError,
        ) as error:  # the latter also where the first process has ended
            complaints.put(str(error))

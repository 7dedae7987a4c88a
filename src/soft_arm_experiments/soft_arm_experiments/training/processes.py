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
        others: How many.
        task: A function of a module.
        arguments: For it.

    Raises:
        VisionError: If one of them does.
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
    """This process' number and how many train together."""
    return (
        (distributed.get_rank(), distributed.get_world_size())
        if distributed.is_initialized()
        else (0, 1)
    )


def mean(values: Tensor) -> Tensor:
    """Mean over the processes; every one of them must ask."""
    return _sum(values) / part()[1]


def total(count: int) -> int:
    """Sum over the processes; every one of them must ask."""
    return int(_sum(torch.tensor([count])))


def anyone(wish: bool) -> bool:
    """Whether any of the processes wishes it; every one of them must ask."""
    return total(int(wish)) > 0


def _sum(values: Tensor) -> Tensor:
    if distributed.is_initialized():
        distributed.all_reduce(values)
    return values


@contextmanager
def _group(rank: int, count: int, meeting: str) -> Iterator[None]:
    os.environ.setdefault(
        'GLOO_SOCKET_IFNAME', 'lo'
    )  # all are on this machine, whatever its name resolves to
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

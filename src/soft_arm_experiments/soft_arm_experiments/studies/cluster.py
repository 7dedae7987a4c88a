"""Runs of a study on Dask: on the cores of this machine, or on a cluster."""

import contextlib
import importlib
import logging
import math
import signal
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.comm.core import CommClosedError

from soft_arm_description.command_line import one_line
from soft_arm_experiments.studies.errors import StudyError
from soft_arm_experiments.studies.plan import Plan
from soft_arm_experiments.studies.runs import Row, run_batch, run_function
from soft_arm_experiments.studies.study_file import BUILT_IN

BATCH_S = 0.5
"""Time that a task takes, about: short runs go together, so that Dask costs little beside them."""

_AHEAD = 2  # tasks per core that are handed out: one runs, one waits
_PATIENCE_S = 30.0
_ASK_AGAIN_S = 2.0
_RECENT = 64  # runs whose time decides how many make a task

_QUIET = {
    'distributed.worker.profile.enabled': False,
    'distributed.admin.system-monitor.gil.enabled': False,
    'distributed.admin.system-monitor.interval': '10s',  # these take a tenth of a core otherwise
    'distributed.admin.tick.interval': '1s',
    'distributed.scheduler.allowed-failures': 0,  # a run that ends its worker is not tried again
}


@contextlib.contextmanager
def connected(workers: int, scheduler: str | None) -> Iterator[Client]:
    """Connect to a scheduler, or start one with workers on this machine, ended afterwards.

    Args:
        workers: Processes on this machine.
        scheduler: Address of a running scheduler, such as `tcp://10.0.0.1:8786`; None: this
            machine.

    Raises:
        StudyError: If no scheduler answers, or none of its workers.
    """
    for name in ('distributed', 'asyncio', 'tornado'):  # what fails is told by a row
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            stack.enter_context(dask.config.set(_QUIET))
            with _interrupt_ignored():
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=0,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            stack.enter_context(cluster)
            yield stack.enter_context(Client(cluster))
            return
        try:
            client = stack.enter_context(Client(scheduler, timeout=_PATIENCE_S))
        except (OSError, ValueError, TypeError) as error:
            raise StudyError(
                f'no Dask scheduler answers at {scheduler!r} within {_PATIENCE_S:g} s: start one '
                'with `dask scheduler`, or correct the address'
            ) from error
        try:
            client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError as error:
            raise StudyError(
                f'the scheduler at {scheduler} has no worker within {_PATIENCE_S:g} s: start some '
                f'with `dask worker {scheduler} --nthreads 1`'
            ) from error
        yield client


@contextlib.contextmanager
def _interrupt_ignored() -> Iterator[None]:
    """Ignore Ctrl-C; the processes that are started meanwhile do so for ever."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def prepare(client: Client, experiment: str) -> None:
    """Let every worker import the function of a study; if it is a single file, send that.

    A module of an installed package must be installed where the workers run.

    Raises:
        StudyError: If a worker cannot import it.
    """
    if experiment not in BUILT_IN:
        _send_module(client, experiment)
    try:
        client.run(run_function, experiment)
    except Exception as error:  # whatever happens there
        raise StudyError(
            f'a worker cannot import experiment {experiment} ({one_line(error)}): install the '
            'packages where the workers run'
        ) from error


def _send_module(client: Client, experiment: str) -> None:
    module = importlib.import_module(experiment.partition(':')[0])
    file = Path(module.__file__ or '')
    if '.' not in module.__name__ and file.suffix == '.py' and 'site-packages' not in file.parts:
        client.upload_file(str(file))


def run_all(
    client: Client, plan: Plan, runs: list[int], store: Callable[[list[Row]], object]
) -> None:
    """Do runs on the workers of a client, and hand each batch to `store` when it is finished.

    Runs that were handed out to a worker that died are done again one by one with nothing beside
    them; a run with which a worker dies then becomes a failed row.

    Raises:
        StudyError: If the connection to the scheduler is lost.
    """
    waiting, suspects = deque(runs), deque[int]()
    handed_out: dict[Future, list[int]] = {}
    recent_s = deque[float](maxlen=_RECENT)
    finished = as_completed()
    cores = _Cores(client)

    def hand_out(batch: list[int]) -> None:
        pairs = [(run, plan.values[run]) for run in batch]
        future = client.submit(
            run_batch, plan.study.experiment, plan.contents, plan.places, pairs, pure=False
        )
        handed_out[future] = batch
        finished.add(future)

    while waiting or suspects or handed_out:
        alone = bool(suspects) and not handed_out
        if alone:
            hand_out([suspects.popleft()])
        while waiting and not suspects and not alone and len(handed_out) < cores.wanted():
            hand_out(_next_batch(waiting, recent_s))
        future = next(finished)
        batch = handed_out.pop(future)
        try:
            rows = future.result()
        except KilledWorker:
            if not alone:
                suspects.extend(batch)
                continue
            rows = [Row(batch[0], {}, 'the worker died during this run', math.nan)]
        except StudyError:  # of a worker that came later
            raise
        except Exception as error:
            raise StudyError(
                f'the connection to the scheduler was lost ({type(error).__name__}): the runs so '
                'far are kept, the same command goes on'
            ) from error
        recent_s.extend(row.run_s for row in rows)
        store(rows)


def in_order(
    client: Client, function: Callable[[Any], Any], arguments: Iterable[Any]
) -> Iterator[Any]:
    """Yield `function(argument)` of each argument, in order, computed ahead by the workers.

    Raises:
        StudyError: If a worker dies, or the connection to the scheduler is lost.
    """
    waiting, handed_out, cores = deque(arguments), deque[Future](), _Cores(client)
    while waiting or handed_out:
        while waiting and len(handed_out) < cores.wanted():
            handed_out.append(client.submit(function, waiting.popleft(), pure=False))
        try:
            yield handed_out.popleft().result()
        except (KilledWorker, CancelledError, CommClosedError) as error:
            raise StudyError(
                f'a worker or its scheduler was lost ({type(error).__name__}): start it again, '
                'and repeat the command'
            ) from error


class _Cores:
    """Number of tasks to be handed out, by the threads of all workers."""

    def __init__(self, client: Client) -> None:
        self._client, self._wanted, self._asked_s = client, _AHEAD, -math.inf

    def wanted(self) -> int:
        if time.monotonic() - self._asked_s > _ASK_AGAIN_S:
            self._asked_s = time.monotonic()
            self._wanted = _AHEAD * max(1, sum(self._client.nthreads().values()))
        return self._wanted


def _next_batch(waiting: deque[int], recent_s: deque[float]) -> list[int]:
    n = int(BATCH_S / max(statistics.median(recent_s), 1e-5)) if recent_s else 1
    return [waiting.popleft() for _ in range(min(max(n, 1), len(waiting)))]

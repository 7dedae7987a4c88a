"""Runs of a study on Dask: on the cores of this machine, or on a cluster."""

import contextlib
import importlib
import logging
import math
import signal
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

from soft_arm_io.command_line import one_line
from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import Plan
from soft_arm_studies.runs import Row, run_batch, run_function
from soft_arm_studies.study_file import BUILT_IN

BATCH_S = 0.5
"""Approximate duration of a task: short runs are grouped, to keep the overhead of Dask small."""

_TASKS_PER_CORE = 2  # one runs, one waits
_PATIENCE_S = 30.0
_RECENT = 64  # runs whose median duration sets the size of a task

_QUIET = {
    'distributed.worker.profile.enabled': False,
    'distributed.admin.system-monitor.gil.enabled': False,
    'distributed.admin.system-monitor.interval': '10s',  # the defaults take a tenth of a core
    'distributed.admin.tick.interval': '1s',
    'distributed.scheduler.allowed-failures': 0,  # a run that kills its worker is not repeated
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
    for name in ('distributed', 'asyncio', 'tornado'):  # failures are reported as rows
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
    """Ignore Ctrl-C, also in the processes that are started meanwhile."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def prepare(client: Client, experiment: str) -> None:
    """Let every worker import the function of a study; send a module that is a single file.

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
    """Run on the workers of a client, and pass each finished batch to `store`.

    Runs of a worker that died are repeated alone, one by one; a run that kills its worker again
    becomes a failed row.

    Raises:
        StudyError: If the connection to the scheduler is lost.
    """
    waiting, suspects = deque(runs), deque[int]()
    handed_out: dict[Future, list[int]] = {}
    recent_s = deque[float](maxlen=_RECENT)
    finished = as_completed()

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
        while waiting and not suspects and not alone and len(handed_out) < _wanted_tasks(client):
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


def _wanted_tasks(client: Client) -> int:
    return _TASKS_PER_CORE * max(1, sum(client.nthreads().values()))


def _next_batch(waiting: deque[int], recent_s: deque[float]) -> list[int]:
    n = int(BATCH_S / max(statistics.median(recent_s), 1e-5)) if recent_s else 1
    return [waiting.popleft() for _ in range(min(max(n, 1), len(waiting)))]

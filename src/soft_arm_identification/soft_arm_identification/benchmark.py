"""Models of arms, compared on recordings that their fits did not use."""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dask.base import compute
from dask.delayed import delayed
from tqdm.dask import TqdmCallback

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.models.model import make_model, model_source
from soft_arm_identification.recording import Recording
from soft_arm_identification.set_file import ArmSet, matching, split_runs

_HERE = Path(__file__).parent
SOURCES = (*sorted((_HERE / 'models').glob('*.py')), _HERE / 'arm_sections.py', Path(__file__))
"""Files that results depend on."""


@dataclass(frozen=True)
class Task:
    """One model on one split.

    Attributes:
        set_name, split, model: Names.
        arm: The arm.
        fit, test: Recordings by name.
    """

    set_name: str
    split: str
    model: str
    arm: ArmSections
    fit: dict[str, Recording]
    test: dict[str, Recording]

    @property
    def key(self) -> str:
        """Hash of everything that the result depends on: recordings, arm, model, sources."""
        digest = hashlib.sha256(f'{self.model} {self.arm.model_dump_json()}'.encode())
        digest.update(model_source(self.model))
        for kind, runs in (('fit', self.fit), ('test', self.test)):
            for name, recording in runs.items():
                signals = recording.inputs.names, recording.measured.names, recording.points
                digest.update(f'{kind} {name} {recording.length_m} {signals}'.encode())
                for values in (
                    recording.time_s,
                    recording.inputs.values,
                    recording.measured.values,
                    recording.points_m,
                ):
                    digest.update(np.ascontiguousarray(values).tobytes())
        for source in SOURCES:
            digest.update(source.read_bytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Score:
    """Errors of one model on one split: the tip, in files that the fit did not use.

    Attributes:
        mean_m, p95_m: Mean and 95th percentile of the distance, free run [m].
        lateral_rmse_m, axial_rmse_m: Root mean square across and along the straight arm [m].
        share_of_length: Mean over length of the arm.
        one_step_mean_m, one_step_p95_m: With every measured position but the present one [m].
        fit_s, predict_s: Duration of the fit, and of the free runs [s].
    """

    mean_m: float
    p95_m: float
    lateral_rmse_m: float
    axial_rmse_m: float
    share_of_length: float
    one_step_mean_m: float
    one_step_p95_m: float
    fit_s: float
    predict_s: float


def tasks_of(
    name: str, arm_set: ArmSet, runs: dict[str, Recording], models: list[str]
) -> Iterator[Task]:
    """Yield every model on every split of a set.

    Args:
        name: Name of the set.
        arm_set: The set.
        runs: Its runs by name.
        models: Names of models.
    """
    arm = arm_set.sections()
    for split_name, split in arm_set.splits.items():
        fit, test = split_runs(runs, split)
        for model in models:
            yield Task(name, split_name, model, arm, fit, test)


def floor_m(arm_set: ArmSet, runs: dict[str, Recording]) -> float | None:
    """Return the median over pairs of repeated runs of the rms distance between their tips [m].

    No model of the commands alone can be better. None without repeats.
    """
    found = []
    for group in arm_set.repeats:
        names = matching(runs, group)
        for place, one in enumerate(names):
            found += [_apart_m(runs[one], runs[other]) for other in names[place + 1 :]]
    return float(np.median(found)) if found else None


def _apart_m(one: Recording, other: Recording) -> float:
    """Root mean square distance of the tips of two runs of the same commands [m]."""
    known = np.isfinite(other.tip_m[:, 0])
    until = one.time_s <= other.time_s[-1]
    tips = [np.interp(one.time_s[until], other.time_s[known], x) for x in other.tip_m[known].T]
    return float(np.sqrt(np.nanmean(((one.tip_m[until] - np.stack(tips, 1)) ** 2).sum(axis=1))))


def run_all(tasks: list[Task], folder: Path, workers: int, progress: bool) -> None:
    """Run the tasks that have no result in a folder yet, each in a process.

    Raises:
        RecordingError: As the models.
        OSError: If the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [task for task in tasks if not result_file(folder, task).exists()]
    if not waiting:
        return
    jobs = [delayed(run, traverse=False)(task, result_file(folder, task)) for task in waiting]
    with TqdmCallback(desc='models', disable=not progress):
        compute(*jobs, scheduler='processes', num_workers=workers, chunksize=1)


def result_file(folder: Path, task: Task) -> Path:
    """File of a task's result."""
    return folder / f'{task.set_name}.{task.split}.{task.model}.{task.key}.npz'


def run(task: Task, path: Path) -> None:
    """Fit and test one model, and store score, parameters and predictions."""
    model = make_model(task.model, task.arm)
    began = time.perf_counter()
    model.fit(list(task.fit.values()))
    fitted = time.perf_counter()
    free_m = {name: model.predict(recording) for name, recording in task.test.items()}
    predicted = time.perf_counter()
    next_m = {name: model.predict(recording, 1) for name, recording in task.test.items()}
    score = _score(task, free_m, next_m, fitted - began, predicted - fitted)
    parameters = {name: asdict(value) for name, value in model.parameters.items()}
    header = json.dumps({'score': asdict(score), 'parameters': parameters})
    for old in path.parent.glob(f'{task.set_name}.{task.split}.{task.model}.*.npz'):
        old.unlink()
    part = path.with_suffix('.part')
    stored: dict[str, Any] = {'header': np.array(header), **free_m}
    with part.open('wb') as file:
        np.savez_compressed(file, **stored)
    part.rename(path)


def _score(
    task: Task,
    free_m: dict[str, np.ndarray],
    next_m: dict[str, np.ndarray],
    fit_s: float,
    predict_s: float,
) -> Score:
    axis = axis_of(task)
    errors_m = np.concatenate([free_m[name] - task.test[name].tip_m for name in free_m])
    errors_m = errors_m[np.isfinite(errors_m).all(axis=1)]
    steps_m = np.concatenate([next_m[name] - task.test[name].tip_m for name in next_m])
    steps_m = np.linalg.norm(steps_m[np.isfinite(steps_m).all(axis=1)], axis=1)
    distances_m, along_m = np.linalg.norm(errors_m, axis=1), errors_m @ axis
    across_m = np.linalg.norm(errors_m - along_m[:, None] * axis, axis=1)
    length_m = next(iter(task.test.values())).length_m or np.nan
    return Score(
        float(distances_m.mean()),
        float(np.percentile(distances_m, 95)),
        float(np.sqrt(np.mean(across_m**2))),
        float(np.sqrt(np.mean(along_m**2))),
        float(distances_m.mean() / length_m),
        float(steps_m.mean()),
        float(np.percentile(steps_m, 95)),
        fit_s,
        predict_s,
    )


def axis_of(task: Task) -> np.ndarray:
    """Direction of the straight arm: that of the arm, or from the base to the mean tip."""
    axis = task.arm.axis
    if axis is None:
        tips_m = np.concatenate([recording.tip_m for recording in task.fit.values()])
        axis = np.nanmean(tips_m, axis=0) - task.arm.base_m
    return np.asarray(axis) / np.linalg.norm(axis)


def load_result(folder: Path, task: Task) -> tuple[Score, dict[str, np.ndarray]]:
    """Return the score of a task, and the predicted tip [m] (n, 3) of each tested run."""
    with np.load(result_file(folder, task), allow_pickle=False) as archive:
        stored = {name: archive[name] for name in archive.files}
    header = json.loads(str(stored.pop('header')))
    return Score(**header['score']), stored

"""Files of sets (YAML): recordings of arms, and those that models are fitted to and tested on."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field, RootModel, model_validator

from soft_arm_description.robot import load_robot
from soft_arm_identification.arm_sections import ArmSections, arm_of_robot
from soft_arm_identification.convert import convert
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.mapping import load_mapping
from soft_arm_identification.recording import Recording
from soft_arm_io.fields import Positive, Strict, Word
from soft_arm_io.yaml_file import load_yaml

SHIPPED = Path(__file__).parent / 'sets' / 'public.yaml'
Pattern = Annotated[str, Field(min_length=1, max_length=200)]


class Split(Strict):
    """Runs to fit to, and others to test on.

    Attributes:
        fit, test: Names or patterns of runs.
        until_s: Where a fit ends in its runs [s]; None: at their ends.
        from_s: Where a test begins in its runs [s]; None: at their starts.
    """

    fit: Annotated[list[Pattern], Field(min_length=1)]
    test: Annotated[list[Pattern], Field(min_length=1)]
    until_s: Positive | None = None
    from_s: Positive | None = None

    @model_validator(mode='after')
    def _apart(self) -> Self:
        if self.until_s and self.from_s and self.from_s < self.until_s:
            raise ValueError(f'from_s {self.from_s:g} lies before until_s {self.until_s:g}')
        return self


class ArmSet(Strict):
    """Recordings of one arm.

    Attributes:
        mapping: Mapping file, or name of a shipped one; None: the files are recordings that
            `softarm recording import` wrote.
        files: Patterns of files in the folder of the set.
        arm: Sections of the arm; None: those of `robot`.
        robot: Name of a shipped robot or path of a robot file, whose chambers name the inputs.
        repeats: Groups of runs of the same commands, for the arm's repeatability.
        splits: By name.
    """

    mapping: str | None = None
    files: Annotated[list[Pattern], Field(min_length=1)]
    arm: ArmSections | None = None
    robot: str | None = None
    repeats: list[Annotated[list[Pattern], Field(min_length=2)]] = []
    splits: Annotated[dict[Word, Split], Field(min_length=1)]

    @model_validator(mode='after')
    def _one_of_both(self) -> Self:
        if (self.arm is None) == (self.robot is None):
            raise ValueError('needs either arm or robot')
        return self

    def sections(self) -> ArmSections:
        """Return the sections; raise RobotFileError if the robot file cannot be used."""
        return self.arm or arm_of_robot(load_robot(self.robot or ''))


class SetFile(RootModel[dict[Word, ArmSet]]):
    """Sets by the names of their folders."""


def load_sets(path: Path) -> dict[str, ArmSet]:
    """Read a file of sets; raise RecordingError if it is invalid."""
    return load_yaml(SetFile, 'file of sets', path, RecordingError).root


def load_runs(folder: Path, arm_set: ArmSet, mapping_folder: Path) -> dict[str, Recording]:
    """Read the files of a set: its runs, by name.

    Args:
        folder: Folder of the set.
        arm_set: The set.
        mapping_folder: Folder from which the path of a mapping file counts.

    Raises:
        RecordingError: If there are no files, or one does not fit the mapping.
    """
    files = sorted({file for pattern in arm_set.files for file in folder.glob(pattern)})
    if not files:
        raise RecordingError(f'{folder}: no files {", ".join(arm_set.files)}')
    mapping = None
    if arm_set.mapping is not None:
        own = mapping_folder / arm_set.mapping
        mapping = load_mapping(str(own) if own.is_file() else arm_set.mapping)
    runs = {}
    for file in files:
        parent = file.parent.relative_to(folder).as_posix()
        for recording in convert(file, mapping) if mapping else [Recording.load(file)]:
            runs[recording.name if parent == '.' else f'{parent}/{recording.name}'] = recording
    return runs


def split_runs(
    runs: dict[str, Recording], split: Split
) -> tuple[dict[str, Recording], dict[str, Recording]]:
    """Return the runs to fit to and those to test on, by name.

    Raises:
        RecordingError: If a pattern matches no run, or a run is in both at the same time.
    """
    fit = {name: part(runs[name], None, split.until_s) for name in matching(runs, split.fit)}
    test = {name: part(runs[name], split.from_s, None) for name in matching(runs, split.test)}
    both = set(fit) & set(test)
    if both and (split.until_s is None or split.from_s is None):
        raise RecordingError(f'{min(both)} is both fitted and tested: state until_s and from_s')
    return fit, test


def matching(runs: dict[str, Recording], patterns: list[str]) -> list[str]:
    """Names of the runs that fit one of some patterns; raise RecordingError if one fits none."""
    found: list[str] = []
    for pattern in patterns:
        names = [name for name in runs if fnmatchcase(name, pattern)]
        if not names:
            raise RecordingError(f'no run {pattern!r}: there are {", ".join(list(runs)[:8])}, ..')
        found += [name for name in names if name not in found]
    return found


def part(recording: Recording, from_s: float | None, until_s: float | None) -> Recording:
    """Return the samples of a recording from one time to before another [s]."""
    times_s = recording.time_s
    low = -np.inf if from_s is None else from_s
    high = np.inf if until_s is None else until_s
    keep = (times_s >= low) & (times_s < high)
    if keep.sum() < 2:
        raise RecordingError(
            f'{recording.name}: {keep.sum()} samples from {low:g} to {high:g} s of '
            f'{times_s[0]:g} to {times_s[-1]:g} s: at least 2 are needed'
        )
    return recording.at(keep)

"""Recordings of any arm: inputs and the positions of points of its body over time."""

import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from soft_arm_identification.errors import RecordingError
from soft_arm_io.yaml_file import shown_path


@dataclass(frozen=True)
class Channels:
    """Signals of one kind over time.

    Attributes:
        names: Name of each signal.
        units: SI unit of each signal.
        values: Shape (n, k); NaN where a value is missing.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Dropped:
    """Samples that were dropped, or of which a point was.

    Attributes:
        reason: Reason.
        samples: Number of samples.
        spans_s: First and last time of each span of consecutive samples [s].
    """

    reason: str
    samples: int
    spans_s: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Recording:
    """One run of an arm.

    Attributes:
        name: Name of the run.
        time_s: Times [s], rising, shape (n,).
        inputs: Commanded inputs.
        measured: Measured inputs; no channels if there are none.
        points: Names of points of the body, from base to tip.
        points_m: Their positions [m], NaN where they are lost, shape (n, m, 3).
        quaternions: Their orientations (x, y, z, w), NaN where unknown, shape (n, m, 4).
        length_m: Length of the arm [m]; None without points.
        dropped: Samples dropped on import.
    """

    name: str
    time_s: np.ndarray
    inputs: Channels
    measured: Channels
    points: tuple[str, ...]
    points_m: np.ndarray
    quaternions: np.ndarray
    length_m: float | None
    dropped: tuple[Dropped, ...] = field(default=())

    @property
    def tip_m(self) -> np.ndarray:
        """Positions of the tip [m], shape (n, 3)."""
        return self.points_m[:, -1]

    def at(self, samples: np.ndarray) -> Self:
        """Return some samples, by a mask of shape (n,)."""
        return replace(
            self,
            time_s=self.time_s[samples],
            inputs=replace(self.inputs, values=self.inputs.values[samples]),
            measured=replace(self.measured, values=self.measured.values[samples]),
            points_m=self.points_m[samples],
            quaternions=self.quaternions[samples],
        )

    def point_m(self, name: str) -> np.ndarray:
        """Positions of a point [m], shape (n, 3); raise RecordingError if there is none."""
        if name not in self.points:
            raise RecordingError(f'{self.name}: point {name!r} is none of {", ".join(self.points)}')
        return self.points_m[:, self.points.index(name)]

    @property
    def rate_hz(self) -> float:
        """Median sample rate [Hz]; 0 of a single sample."""
        return float(1 / np.median(np.diff(self.time_s))) if len(self.time_s) > 1 else 0.0

    def save(self, path: Path) -> None:
        """Write a NumPy archive. Raises OSError."""
        header = {
            'name': self.name,
            'length_m': self.length_m,
            'points': self.points,
            'inputs': (self.inputs.names, self.inputs.units),
            'measured': (self.measured.names, self.measured.units),
            'dropped': [asdict(part) for part in self.dropped],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            path,
            header=np.array(json.dumps(header)),
            time_s=self.time_s,
            inputs=self.inputs.values,
            measured=self.measured.values,
            points_m=self.points_m,
            quaternions=self.quaternions,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            RecordingError: If the file is missing or is none.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                stored = {name: archive[name] for name in archive.files}
            header = json.loads(str(stored['header']))
            inputs, measured = (
                Channels(tuple(header[kind][0]), tuple(header[kind][1]), stored[kind])
                for kind in ('inputs', 'measured')
            )
            return cls(
                header['name'],
                stored['time_s'],
                inputs,
                measured,
                tuple(header['points']),
                stored['points_m'],
                stored['quaternions'],
                header['length_m'],
                tuple(
                    Dropped(part['reason'], part['samples'], tuple(map(tuple, part['spans_s'])))
                    for part in header['dropped']
                ),
            )
        except OSError as error:
            raise RecordingError(f'{shown_path(path)}: {error.strerror or error}') from error
        except (ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise RecordingError(
                f'{shown_path(path)} is not a recording: create one with softarm recording import'
            ) from error

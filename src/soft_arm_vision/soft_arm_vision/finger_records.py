"""Records of a finger's calibration on disk: pictures at pressures, or bends already measured; and lines that someone clicked.

    bends      segment,pressure_pa,theta_rad[,branch]     as `softarm calibrate curve --quantity bend` reads them
    pictures   pressure_pa,branch,colour,depth            PNG files beside the CSV: RGB, and aligned depth of 16 bits [mm]
    clicks     colour,line,u1_px,v1_px,u2_px,v2_px        line: reference (colour: all) or a piece's name

Rows are in the order of measurement; branch is up or down. The pictures' camera is `camera.yaml` beside them, with the keys image and
distortion of the virtual camera's file.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import yaml

from soft_arm_description.robot import Robot
from soft_arm_description.yaml_file import read_yaml
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import Intrinsics

PICTURE_COLUMNS = 'pressure_pa', 'branch', 'colour', 'depth'
CLICK_COLUMNS = 'colour', 'line', 'u1_px', 'v1_px', 'u2_px', 'v2_px'
REFERENCE, EVERY = 'reference', 'all'


@dataclass(frozen=True)
class PictureRecord:
    """One row: gauge pressure [Pa], whether on the way up, and the files."""

    pressure_pa: float
    rising: bool
    colour: Path
    depth: Path

    def images(self) -> tuple[np.ndarray, np.ndarray]:
        """Colour (h, w, 3) uint8 RGB and depth (h, w) uint16 [mm]. Raises VisionError if a file is no such picture."""
        colour, depth = cv2.imread(str(self.colour), cv2.IMREAD_COLOR), cv2.imread(str(self.depth), cv2.IMREAD_UNCHANGED)
        for path, image in ((self.colour, colour), (self.depth, depth)):
            if image is None:
                raise VisionError(f'{path}: no picture can be read: is the file there?')
        if depth.dtype != np.uint16 or depth.ndim != 2:
            raise VisionError(f'{self.depth}: {depth.dtype} of shape {depth.shape}: depth must be one channel of 16 bits, in mm')
        return cv2.cvtColor(colour, cv2.COLOR_BGR2RGB), depth


def has_pictures(path: Path) -> bool:
    """Whether a file of records names pictures, not bends. Raises VisionError if it cannot be read."""
    return 'colour' in _rows(path)[0]


def read_pictures(path: Path) -> list[PictureRecord]:
    """Read a file of picture records.

    Raises:
        VisionError: If it cannot be read, lacks a column or has a value that is none.
    """
    names, rows = _rows(path)
    _need(path, names, PICTURE_COLUMNS)
    records = []
    for line, row in enumerate(rows, start=2):
        if row['branch'] not in ('up', 'down'):
            raise VisionError(f'{path}:{line}: branch {row["branch"]!r} must be up or down')
        pressure_pa = _number(path, line, row, 'pressure_pa')
        records.append(PictureRecord(pressure_pa, row['branch'] == 'up', path.parent / row['colour'], path.parent / row['depth']))
    if not records:
        raise VisionError(f'{path}: no records: the columns are {",".join(PICTURE_COLUMNS)}')
    return records


class PictureWriter:
    """Writes picture records into a folder: records.csv, camera.yaml and two PNG files for each.

    Args:
        folder: Made if it does not exist.
        intrinsics: Of the camera.
        devices: `virtual` or `real`, for camera.yaml.
    """

    def __init__(self, folder: Path, intrinsics: Intrinsics, devices: str):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._count = folder, 0
        k1, k2, p1, p2, k3 = intrinsics.distortion or (0.0,) * 5
        image = {
            name: getattr(intrinsics, name.rsplit('_', 1)[0]) for name in ('width_px', 'height_px', 'fx_px', 'fy_px', 'cx_px', 'cy_px')
        }
        content = {'devices': devices, 'image': image, 'distortion': {'k1': k1, 'k2': k2, 'k3': k3, 'p1': p1, 'p2': p2}}
        (folder / 'camera.yaml').write_text(yaml.safe_dump(content, sort_keys=False))
        self.path = folder / 'records.csv'
        self.path.write_text(','.join(PICTURE_COLUMNS) + '\n')

    def add(self, pressure_pa: float, rising: bool, colour: np.ndarray, depth: np.ndarray) -> None:
        """Write one record: gauge pressure [Pa], way, colour RGB and depth [mm]. Raises VisionError if the folder takes no more."""
        files = f'{self._count:03d}_colour.png', f'{self._count:03d}_depth.png'
        self._count += 1
        for name, image in zip(files, (cv2.cvtColor(colour, cv2.COLOR_RGB2BGR), depth), strict=True):
            if not cv2.imwrite(str(self._folder / name), image):
                raise VisionError(f'{self._folder / name}: cannot be written: is the disk full?')
        with open(self.path, 'a') as file:
            file.write(f'{pressure_pa:.1f},{"up" if rising else "down"},{files[0]},{files[1]}\n')


def read_devices(path: Path) -> str | None:
    """Devices that a camera file says its pictures are of, `virtual` or `real`; None where it or its key is missing."""
    try:
        content = read_yaml(path)
    except (OSError, ValueError):
        return None  # whoever needs the file says what is wrong
    return content.get('devices') if isinstance(content, dict) else None


def read_camera(path: Path) -> Intrinsics:
    """Read the camera of picture records. Raises VisionError if the file is missing or incomplete."""
    try:
        content = read_yaml(path)
        size = [int(content['image'][key]) for key in ('width_px', 'height_px')]
        pinhole = [float(content['image'][key]) for key in ('fx_px', 'fy_px', 'cx_px', 'cy_px')]
        return Intrinsics(*size, *pinhole, tuple(float(content['distortion'][key]) for key in ('k1', 'k2', 'p1', 'p2', 'k3')))
    except OSError as error:
        raise VisionError(f'camera {path}: {error.strerror}; give it with --camera') from error
    except (KeyError, TypeError, ValueError) as error:
        raise VisionError(
            f'camera {path}: not a camera file ({" ".join(str(error).split())}): it needs image (width_px, height_px, fx_px, fy_px, cx_px, '
            'cy_px) and distortion (k1, k2, k3, p1, p2)'
        ) from error


def read_clicks(path: Path, robot: Robot) -> dict[str, np.ndarray]:
    """Read clicked lines.

    Returns:
        For every clicked picture (name of its colour file) the lines' pixels (1 + n_segments, 2, 2), reference first.

    Raises:
        VisionError: If the file cannot be read, or a picture lacks a line.
    """
    names, rows = _rows(path)
    _need(path, names, CLICK_COLUMNS)
    lines = [REFERENCE, *robot.segment_names]
    clicked: dict[str, dict[str, np.ndarray]] = {}
    for line, row in enumerate(rows, start=2):
        if row['line'] not in lines:
            raise VisionError(f'{path}:{line}: line {row["line"]!r} is none of {", ".join(lines)}')
        ends = np.array([_number(path, line, row, key) for key in CLICK_COLUMNS[2:]]).reshape(2, 2)
        if np.linalg.norm(ends[1] - ends[0]) < 2.0:
            raise VisionError(f'{path}:{line}: the two clicks of {row["line"]} are nearer than 2 px: click its two ends')
        clicked.setdefault(row['colour'], {})[row['line']] = ends
    common = clicked.pop(EVERY, {})
    found = {}
    for picture, own in clicked.items():
        missing = [name for name in lines if name not in own | common]
        if missing:
            raise VisionError(f'{path}: picture {picture} lacks clicks on {missing[0]}: give all of {", ".join(lines)}')
        found[picture] = np.stack([(common | own)[name] for name in lines])
    return found


def append_clicks(path: Path, robot: Robot, picture: str, lines_px: np.ndarray) -> None:
    """Add the lines (1 + n_segments, 2, 2) of one picture to a file of clicks."""
    new = not path.exists()
    with open(path, 'a') as file:
        if new:
            file.write(','.join(CLICK_COLUMNS) + '\n')
        for name, ends in zip([REFERENCE, *robot.segment_names], lines_px.reshape(-1, 4), strict=True):
            file.write(','.join([picture, name, *(f'{value:.2f}' for value in ends)]) + '\n')


def _rows(path: Path) -> tuple[list[str], list[dict]]:
    try:
        with open(path, newline='') as file:
            reader = csv.DictReader(file)
            return list(reader.fieldnames or []), list(reader)
    except OSError as error:
        raise VisionError(f'{path}: {error.strerror}; give a CSV file') from error
    except UnicodeDecodeError as error:
        raise VisionError(f'{path}: not a text file: give a CSV file') from error


def _need(path: Path, names: list[str], columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in names]
    if missing:
        raise VisionError(f'{path}: column {missing[0]} is missing; the columns are {",".join(columns)}')


def _number(path: Path, line: int, row: dict, key: str) -> float:
    try:
        value = float(row[key])
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise VisionError(f'{path}:{line}: {key} {row[key]!r} must be a finite number')
    return value

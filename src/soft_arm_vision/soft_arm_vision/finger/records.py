"""Records of a finger's calibration on disk: pictures, measured bends, and clicked lines.

    bends      segment,pressure_pa,theta_rad[,branch]     as `softarm calibrate curve` reads
    pictures   pressure_pa,branch,colour,depth            PNG files: RGB, and depth of 16 bits [mm]
    clicks     colour,line,u1_px,v1_px,u2_px,v2_px        line: reference, or a piece's name

Rows are in the order of measurement; branch is up or down. The pictures' camera is `camera.yaml`
in their folder, with the keys image and distortion of the virtual camera's file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NotRequired

import cv2
import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from soft_arm_description.rig import Devices
from soft_arm_description.robot import Robot
from soft_arm_io.csv_file import CsvFileError, csv_rows
from soft_arm_io.fields import Number
from soft_arm_io.yaml_file import YamlFileError, checked, read_yaml, shown, write_yaml
from soft_arm_vision.clouds.cloud import depth_in_millimetres
from soft_arm_vision.errors import VisionError
from soft_arm_vision.intrinsics import DISTORTIONS, Intrinsics

PICTURE_COLUMNS = 'pressure_pa', 'branch', 'colour', 'depth'
CLICK_COLUMNS = 'colour', 'line', 'u1_px', 'v1_px', 'u2_px', 'v2_px'
REFERENCE, EVERY = 'reference', 'all'
# In OpenCV's order.
COEFFICIENTS = ('k1', 'k2', 'p1', 'p2', 'k3', 'k4', 'k5', 'k6', 's1', 's2', 's3', 's4', 'tx', 'ty')


@dataclass(frozen=True)
class PictureRecord:
    """One row: gauge pressure [Pa], whether on the way up, and the files."""

    pressure_pa: float
    rising: bool
    colour: Path
    depth: Path

    def images(self) -> tuple[np.ndarray, np.ndarray]:
        """Read colour (h, w, 3) uint8 RGB and depth (h, w) uint16 [mm].

        Raises:
            VisionError: If a file is not an image of this kind.
        """
        colour = _image(self.colour, cv2.IMREAD_COLOR)
        depth = _image(self.depth, cv2.IMREAD_UNCHANGED)
        if depth.dtype != np.uint16 or depth.ndim != 2:
            raise VisionError(
                f'{self.depth}: {depth.dtype} of shape {depth.shape}: depth must be one channel '
                'of 16 bits, in mm'
            )
        return cv2.cvtColor(colour, cv2.COLOR_BGR2RGB), depth


def _image(path: Path, mode: int) -> np.ndarray:
    image = cv2.imread(str(path), mode)
    if image is None:
        raise VisionError(f'{path}: no image can be read: is the file there?')
    return image


def read_pictures(path: Path) -> list[PictureRecord]:
    """Read a file of picture records.

    Raises:
        VisionError: If the file cannot be read, lacks a column or has an invalid value.
    """
    records = []
    with csv_rows(path, VisionError, *PICTURE_COLUMNS) as (_, rows):
        for row in rows:
            rising = row.one_of('branch', 'up', 'down') == 'up'
            pictures = path.parent / row.texts['colour'], path.parent / row.texts['depth']
            records.append(PictureRecord(row.number('pressure_pa'), rising, *pictures))
    if not records:
        raise VisionError(f'{path}: no records: the columns are {",".join(PICTURE_COLUMNS)}')
    return records


class PictureWriter:
    """Writes picture records into a folder: records.csv, camera.yaml and two PNG files for each.

    Args:
        folder: Folder of the records; it is created if it does not exist.
        intrinsics: Intrinsics of the camera.
        devices: `virtual` or `real`, for camera.yaml.
    """

    def __init__(self, folder: Path, intrinsics: Intrinsics, devices: str):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._count = folder, 0
        lens = intrinsics.distortion
        lens += (0.0,) * (5 - len(lens))
        image = {
            name: getattr(intrinsics, name.rsplit('_', 1)[0])
            for name in ('width_px', 'height_px', 'fx_px', 'fy_px', 'cx_px', 'cy_px')
        }
        content = {
            'devices': devices,
            'image': image,
            'distortion': dict(zip(COEFFICIENTS, lens, strict=False)),
        }
        write_yaml(folder / 'camera.yaml', content)
        self.path = folder / 'records.csv'
        self.path.write_text(','.join(PICTURE_COLUMNS) + '\n')

    def add(self, pressure_pa: float, rising: bool, colour: np.ndarray, depth: np.ndarray) -> None:
        """Write one record.

        Args:
            pressure_pa: Gauge pressure.
            rising: Whether on the way up.
            colour: RGB, shape (h, w, 3), uint8.
            depth: Aligned depth, shape (h, w): uint16 millimetres or float metres.

        Raises:
            VisionError: If a file cannot be written.
        """
        files = f'{self._count:03d}_colour.png', f'{self._count:03d}_depth.png'
        self._count += 1
        for name, image in zip(
            files,
            (cv2.cvtColor(colour, cv2.COLOR_RGB2BGR), depth_in_millimetres(depth)),
            strict=True,
        ):
            if not cv2.imwrite(str(self._folder / name), image):
                raise VisionError(f'{self._folder / name}: cannot be written: is the disk full?')
        with open(self.path, 'a') as file:
            file.write(f'{pressure_pa:.1f},{"up" if rising else "down"},{files[0]},{files[1]}\n')


def read_devices(path: Path) -> Devices | None:
    """Return the devices that a camera file names, `virtual` or `real`; None without that key."""
    try:
        content = read_yaml(path)
    except (OSError, ValueError):
        return None  # the reader of the file reports the error
    return content.get('devices') if isinstance(content, dict) else None


_Size = Annotated[int, Field(ge=1, le=20_000)]
_Focal = Annotated[Number, Field(gt=0)]


class _Image(TypedDict):
    width_px: _Size
    height_px: _Size
    fx_px: _Focal
    fy_px: _Focal
    cx_px: Number
    cy_px: Number


class _Distortion(TypedDict):
    k1: Number
    k2: Number
    k3: Number
    p1: Number
    p2: Number
    k4: NotRequired[Number]
    k5: NotRequired[Number]
    k6: NotRequired[Number]
    s1: NotRequired[Number]
    s2: NotRequired[Number]
    s3: NotRequired[Number]
    s4: NotRequired[Number]
    tx: NotRequired[Number]
    ty: NotRequired[Number]


class _Camera(TypedDict):
    image: _Image
    distortion: _Distortion


def read_camera(path: Path) -> Intrinsics:
    """Read the camera of the pictures. Raises VisionError if the file is missing or incomplete."""
    try:
        content = checked(read_yaml(path), _Camera)
        image, distortion = content['image'], content['distortion']
        lens = [float(distortion.get(key, 0.0)) for key in COEFFICIENTS]
        count = 1 + max(i for i, key in enumerate(COEFFICIENTS) if key in distortion)
        return Intrinsics(
            image['width_px'],
            image['height_px'],
            image['fx_px'],
            image['fy_px'],
            image['cx_px'],
            image['cy_px'],
            tuple(lens[: min(known for known in DISTORTIONS if known >= count)]),
        )
    except OSError as error:
        raise VisionError(f'camera {path}: {error.strerror}; give it with --camera') from error
    except YamlFileError as error:
        raise VisionError(
            f'camera {path}: not a camera file ({error}): it needs image (width_px, height_px, '
            'fx_px, fy_px, cx_px, '
            'cy_px) and distortion (k1, k2, k3, p1, p2)'
        ) from error


def read_clicks(path: Path, robot: Robot) -> dict[str, np.ndarray]:
    """Read clicked lines.

    Returns:
        For every clicked picture (name of its colour file) the lines' pixels (1 + n_segments, 2,
        2), reference first.

    Raises:
        VisionError: If the file cannot be read, or a picture lacks a line.
    """
    lines = [REFERENCE, *robot.segment_names]
    clicked: dict[str, dict[str, np.ndarray]] = {}
    with csv_rows(path, VisionError, *CLICK_COLUMNS) as (_, rows):
        for row in rows:
            line = row.one_of('line', *lines)
            ends = np.array([row.number(key) for key in CLICK_COLUMNS[2:]]).reshape(2, 2)
            if np.abs(ends).max() > 1e5 or np.linalg.norm(ends[1] - ends[0]) < 2.0:
                raise CsvFileError(
                    f'line {row.line}: the two clicks of {line} must be pixels at least 2 px '
                    'apart: click its two ends'
                )
            clicked.setdefault(row.texts['colour'], {})[line] = ends
    common = clicked.pop(EVERY, {})
    found = {}
    for picture, own in clicked.items():
        missing = [name for name in lines if name not in own | common]
        if missing:
            raise VisionError(
                f'{path}: picture {shown(picture, plain=True)} lacks clicks on {missing[0]}: give '
                f'all of {", ".join(lines)}'
            )
        found[picture] = np.stack([(common | own)[name] for name in lines])
    return found


def append_clicks(path: Path, robot: Robot, picture: str, lines_px: np.ndarray) -> None:
    """Add the lines (1 + n_segments, 2, 2) of one picture to a file of clicks."""
    new = not path.exists()
    with open(path, 'a') as file:
        if new:
            file.write(','.join(CLICK_COLUMNS) + '\n')
        for name, ends in zip(
            [REFERENCE, *robot.segment_names], lines_px.reshape(-1, 4), strict=True
        ):
            file.write(','.join([picture, name, *(f'{value:.2f}' for value in ends)]) + '\n')

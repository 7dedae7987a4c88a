"""Inputs of the extrinsic calibration: the jig's places, and correspondences measured elsewhere."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from soft_arm_io.csv_file import CsvFileError, csv_rows
from soft_arm_io.fields import Number
from soft_arm_io.yaml_file import YamlFileError, checked, read_yaml
from soft_arm_vision.errors import VisionError

COLUMNS = ('place', 'base_x_m', 'base_y_m', 'base_z_m', 'camera_x_m', 'camera_y_m', 'camera_z_m')


class _Jig(TypedDict):
    pegs_m: list[Annotated[list[Number], Field(min_length=3, max_length=3)]]


def read_jig(path: Path) -> np.ndarray:
    """Return the ring centres on the jig's pegs in the base frame [m], shape (n, 3).

    They are read from the key `pegs_m` of a YAML file.

    Raises:
        VisionError: If the file cannot be read or has no such list.
    """
    try:
        return np.array(checked(read_yaml(path), _Jig)['pegs_m']).reshape(-1, 3)
    except OSError as error:
        raise VisionError(
            f"jig {path}: {error.strerror}; give the file with the pegs' places with --jig"
        ) from error
    except YamlFileError as error:
        raise VisionError(
            f'jig {path}: the key pegs_m must be a list of [x, y, z] in m ({error})'
        ) from error


def read_correspondences(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return camera points (n, 3), base points (n, 3) [m] and place numbers (n,) of a CSV file.

    The columns are `COLUMNS`.

    Raises:
        VisionError: If the file cannot be read, a column is missing or a value is not a number.
    """
    with csv_rows(path, VisionError, *COLUMNS) as (_, rows):
        values = np.array([[row.number(name) for name in COLUMNS] for row in rows]).reshape(
            -1, len(COLUMNS)
        )
        if (np.abs(values[:, 0]) > 1e6).any():
            raise CsvFileError('a place is beyond 1e6: number the places 0, 1, 2 ..')
    return values[:, 4:7], values[:, 1:4], values[:, 0].astype(int)

"""Inputs of the extrinsic calibration: the jig's places, and correspondences measured elsewhere."""

import csv
from pathlib import Path

import numpy as np

from soft_arm_description.yaml_file import read_yaml
from soft_arm_vision.errors import VisionError

COLUMNS = ('place', 'base_x_m', 'base_y_m', 'base_z_m', 'camera_x_m', 'camera_y_m', 'camera_z_m')


def read_jig(path: Path) -> np.ndarray:
    """Ring centres on the jig's pegs in the base frame [m], shape (n, 3), from the key `pegs_m` of a YAML file.

    Raises:
        VisionError: If the file cannot be read or has no such list.
    """
    try:
        pegs_m = np.array(read_yaml(path)['pegs_m'], float)
    except OSError as error:
        raise VisionError(f"jig {path}: {error.strerror}; give the file with the pegs' places with --jig") from error
    except (KeyError, TypeError, ValueError) as error:
        raise VisionError(f'jig {path}: the key pegs_m must be a list of [x, y, z] in m ({error})') from error
    if pegs_m.ndim != 2 or pegs_m.shape[1] != 3 or not np.isfinite(pegs_m).all():
        raise VisionError(f'jig {path}: pegs_m must be a list of [x, y, z] in m, all finite; its shape is {pegs_m.shape}')
    return pegs_m


def read_correspondences(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Camera points (n, 3), base points (n, 3) [m] and place numbers (n,) from a CSV file with the columns `COLUMNS`.

    Raises:
        VisionError: If the file cannot be read, a column is missing or a value is not a number.
    """
    try:
        with path.open(newline='') as file:
            rows = list(csv.DictReader(file))
        values = np.array([[float(row[name]) for name in COLUMNS] for row in rows]).reshape(-1, len(COLUMNS))
    except OSError as error:
        raise VisionError(f'points {path}: {error.strerror}') from error
    except KeyError as error:
        raise VisionError(f'points {path}: column {error.args[0]!r} is missing; the columns are {",".join(COLUMNS)}') from error
    except (TypeError, ValueError) as error:
        raise VisionError(f'points {path}: {error}; every row needs {len(COLUMNS)} numbers') from error
    return values[:, 4:7], values[:, 1:4], values[:, 0].astype(int)

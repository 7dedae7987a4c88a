"""Compare the cylinder fit with those of pyransac3d and PCL on the same points.

PCL is C++: where a compiler and its headers are found a small program of ours is compiled into a
temporary folder and fed the points.
"""

import json
import os
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from soft_arm_description.robot import Ring
from soft_arm_vision.clouds.cylinder_fit import ransac_cylinder
from soft_arm_vision.errors import VisionError

POINTS, OUTLIERS, SIGMA_M = 5000, 0.3, 1e-3
THRESHOLD_M = 0.003
PEER_ITERATIONS = 1000
PYRANSAC3D_FITS = 3  # seconds each
PCL_SOURCE = Path(__file__).parent / 'bench_peers/pcl_cylinder.cpp'
PCL_LIBRARIES = (
    'segmentation',
    'sample_consensus',
    'features',
    'search',
    'filters',
    'kdtree',
    'octree',
    'common',
)
COMPILE_TIMEOUT_S, FIT_TIMEOUT_S = 300.0, 120.0


def fit_alone(fits: int, ring: Ring) -> dict[str, float | None]:
    """Return times and errors of the fitted axes; None for a library that is not installed.

    `fit_ratio_*` is the peer's median time over ours; PCL's has the time of the normals in it, that
    its model cannot do without. `fit_ratio_pcl_without_normals` leaves them out.
    """
    rng = np.random.default_rng(1)
    cases: list[tuple[np.ndarray, np.ndarray]] = []
    ours: list[tuple[float, float]] = []
    pyransac3d: list[tuple[float, float]] = []
    for number in range(fits):
        points, centre, axis = _half_wall(rng, ring)
        cases.append((points, centre))
        begin = perf_counter()
        found, _ = ransac_cylinder(  # type: ignore[misc]  # half the points are on a cylinder
            points, radius_m=ring.radius_m, threshold_m=THRESHOLD_M, rng=rng
        )
        ours.append((perf_counter() - begin, _off_axis(found.point[0], centre, found.axis[0])))
        peer = _pyransac3d()
        if peer is not None and number < PYRANSAC3D_FITS:
            begin = perf_counter()
            point, direction, _, _ = peer().fit(
                points, thresh=THRESHOLD_M, maxIteration=PEER_ITERATIONS
            )
            pyransac3d.append((perf_counter() - begin, _off_axis(point, centre, direction)))
    try:
        pcl = _pcl_fits(cases, ring.radius_m)
    except VisionError as error:
        warnings.warn(f'{error}; its figures are left out', stacklevel=2)
        pcl = []
    fit_median_s = float(np.median([s for s, _ in ours]))

    def ratio(peer: Sequence[tuple[float, ...]], column: int = 0) -> float | None:
        return float(np.median([fit[column] for fit in peer])) / fit_median_s if peer else None

    def off_axis_mean_m(peer: Sequence[tuple[float, ...]]) -> float | None:
        return float(np.mean([fit[1] for fit in peer])) if peer else None

    return {
        'fit_median_s': fit_median_s,
        'fit_off_axis_mean_m': off_axis_mean_m(ours),
        'fit_ratio_pyransac3d': ratio(pyransac3d),
        'pyransac3d_off_axis_mean_m': off_axis_mean_m(pyransac3d),
        'fit_ratio_pcl': ratio(pcl),
        'fit_ratio_pcl_without_normals': ratio(pcl, 2),
        'pcl_off_axis_mean_m': off_axis_mean_m(pcl),
    }


def _pcl_fits(
    cases: list[tuple[np.ndarray, np.ndarray]], radius_m: float
) -> list[tuple[float, float, float]]:
    """Return (time with normals [s], error of the axis [m], time without normals [s]) per case."""
    with TemporaryDirectory() as folder:
        program = compile_pcl(Path(folder))
        answers = (
            [] if program is None else [_pcl(program, points, radius_m) for points, _ in cases]
        )
    return [
        (
            answer['normals_s'] + answer['fit_s'],
            _off_axis(answer['point_m'], centre, answer['axis']),
            answer['fit_s'],
        )
        for answer, (_, centre) in zip(answers, cases, strict=False)
    ]


def compile_pcl(folder: Path) -> Path | None:
    """Compile PCL's fit into this folder; None without a C++ compiler or without PCL.

    PCL is looked for in `PCL_ROOT`, or in /usr.

    Raises:
        VisionError: If PCL is there and the program cannot be compiled.
    """
    root = Path(os.environ.get('PCL_ROOT', '/usr'))
    headers, compiler = sorted(root.glob('include/pcl-1.*')), shutil.which('c++')
    if not headers or compiler is None:
        return None
    places: list[str | Path] = [
        flag
        for lib in (root / 'lib', *root.glob('lib/*-linux-gnu'))
        for flag in (f'-L{lib}', f'-Wl,-rpath,{lib}')
    ]
    places += [
        '-isystem',
        headers[-1],
        '-isystem',
        root / 'include/eigen3',
        '-idirafter',
        root / 'include',
    ]
    libraries = ['-Wl,--allow-shlib-undefined'] + [f'-lpcl_{name}' for name in PCL_LIBRARIES]
    program = folder / PCL_SOURCE.stem
    command = [compiler, '-O3', '-std=c++17', PCL_SOURCE, '-o', program, *places, *libraries]
    done = _run(command, b'', COMPILE_TIMEOUT_S)
    if done.returncode != 0:
        lines = done.stderr.decode(errors='replace').splitlines()
        first = next(
            (line for line in lines if 'error' in line), lines[-1] if lines else 'no message'
        )
        raise VisionError(f'PCL in {headers[-1]} cannot be used: {first}')
    return program


def _pcl(program: Path, points: np.ndarray, radius_m: float) -> dict:
    command = [program, f'{radius_m:.9g}', f'{THRESHOLD_M:.9g}', str(PEER_ITERATIONS)]
    done = _run(command, points.astype(float).tobytes(), FIT_TIMEOUT_S)
    if done.returncode != 0:
        raise VisionError(f'PCL gave no cylinder: {done.stderr.decode(errors="replace").strip()}')
    return json.loads(done.stdout)


def _run(command: list, data: bytes, timeout_s: float) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(
            command, input=data, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise VisionError(
            f'{Path(command[0]).name} for PCL did not end within {timeout_s:g} s'
        ) from error


def _pyransac3d() -> Any:
    try:
        from pyransac3d import Cylinder
    except ModuleNotFoundError:
        return None
    return Cylinder


def _half_wall(rng: np.random.Generator, ring: Ring) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points on the near half of a ring's wall with outliers, its centre and its axis."""
    angle = rng.uniform(-1.3, 1.3, POINTS)
    axis = np.array([rng.normal(0, 0.2), 1.0, rng.normal(0, 0.2)])
    axis /= np.linalg.norm(axis)
    e1 = np.cross(axis, [0, 0, 1.0])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(e1, axis)
    centre = np.array([*rng.uniform(-0.05, 0.05, 2), 0.47])
    toward = -np.sign(e2[2]) * e2
    radius = ring.radius_m + rng.normal(0, SIGMA_M, POINTS)
    along = rng.uniform(-0.5, 0.5, POINTS) * ring.height_m
    points = (
        centre
        + radius[:, None] * (np.sin(angle)[:, None] * e1 + np.cos(angle)[:, None] * toward)
        + along[:, None] * axis
    )
    spoilt = rng.random(POINTS) < OUTLIERS
    points[spoilt] = centre + rng.uniform(-0.06, 0.06, (spoilt.sum(), 3))
    return points, centre, axis


def _off_axis(point: np.ndarray, centre: np.ndarray, axis: np.ndarray) -> float:
    offset, axis = centre - np.asarray(point), np.asarray(axis) / np.linalg.norm(axis)
    return float(np.linalg.norm(offset - offset @ axis * axis))

"""Fit the mug of a real cloud, for `softarm bench vision --domain real`."""

from pathlib import Path
from time import perf_counter

import numpy as np
import open3d as o3d

from soft_arm_vision.clouds.cloud_file import read_cloud
from soft_arm_vision.clouds.scene_cylinder import find_cylinder

MUG = Path(__file__).parent / 'real_clouds' / 'table_scene_mug_stereo_textured.pcd'
TABLE_M = 0.005  # half the thickness of the table in the cloud
TRIES = 1000  # of the search for the table's plane


def mug_figures(seed: int) -> dict[str, float]:
    """Return radius [m], angle of the axis to the table's normal [rad] and duration [s].

    Args:
        seed: Seed of the random choices of the fit.

    Raises:
        VisionError: If no cylinder is found.
    """
    points = read_cloud(MUG)
    begin = perf_counter()
    found = find_cylinder(points, seed=seed)
    fit_s = perf_counter() - begin
    o3d.utility.random.seed(seed)
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    (*normal, _), _ = cloud.segment_plane(TABLE_M, 3, TRIES)
    cosine = abs(float(found.axis @ np.array(normal)) / float(np.linalg.norm(normal)))
    return {
        'mug_radius_m': float(found.radius_m),
        'mug_axis_off_table_rad': float(np.arccos(min(1.0, cosine))),
        'mug_fit_s': fit_s,
    }

"""Three soft fingers grasp a cube and turn it, let go, reach back and turn it on.

Usage: python hand_turns_cube.py [FOLDER] [TURNS]; makes the video FOLDER/hand_turns_cube.mp4 of
TURNS grasps (default: out, 4). At the end the pillar under the cube is taken away.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_physics import Camera, Simulation, Video

FRAME_S = 0.04
GRASP_N_M, SIDE_N_M, OPEN_N_M, HOLD_N_M = 0.014, 0.025, -0.004, 0.025

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
turns = int(sys.argv[2]) if len(sys.argv) > 2 else 4
folder.mkdir(parents=True, exist_ok=True)
simulation = Simulation('hand', Path(__file__).parent / 'cube_on_pillar.yaml')
torques_n_m = np.zeros(2)
path = folder / 'hand_turns_cube.mp4'


def yaw_deg() -> float:
    """Angle of the cube about the vertical [deg]."""
    return float(Rotation.from_matrix(simulation.pose('cube')[:3, :3]).as_euler('zyx')[0] * 57.2958)


with (
    Camera(simulation, 'side') as camera,
    Video(path, 1.0 / FRAME_S, camera.width_px, camera.height_px) as video,
):

    def move(grasp_n_m: float, side_n_m: float, duration_s: float) -> float:
        """Bring the torques of all fingers there; return by how much the cube turned [deg]."""
        start, before_deg = torques_n_m.copy(), yaw_deg()
        frames = round(duration_s / FRAME_S)
        for i in range(frames):
            share = (i + 1) / frames
            torques_n_m[:] = start + share * (np.array([grasp_n_m, side_n_m]) - start)
            for finger in simulation.robots.values():
                finger.actuate(torques_n_m)
            simulation.step(FRAME_S)
            video.add(camera.picture())
        return (yaw_deg() - before_deg + 180.0) % 360.0 - 180.0

    turned_deg = 0.0
    for _ in range(turns):
        turned_deg += move(OPEN_N_M, -SIDE_N_M, 0.24)
        turned_deg += move(GRASP_N_M, -SIDE_N_M, 0.32)
        turned_deg += move(GRASP_N_M, SIDE_N_M, 0.40)
    move(HOLD_N_M, SIDE_N_M, 0.32)
    simulation.place('pillar', (0.0, 0.0, -1.0))
    move(HOLD_N_M, SIDE_N_M, 1.0)
    height_mm = 1e3 * simulation.pose('cube')[2, 3]
print(f'the cube turned by {turned_deg:.1f} deg and hangs {height_mm:.1f} mm high; video: {path}')

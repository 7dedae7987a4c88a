"""A starfish of five soft arms rows itself over the floor.

Usage: python starfish_walks.py [FOLDER] [SECONDS]; makes the video FOLDER/starfish_walks.mp4
(default: out, 6). Arms press down while they sweep back, and rise while they sweep forward.
"""

import sys
from pathlib import Path

import numpy as np

from soft_arm_physics import Camera, Simulation, Video

FRAME_S = 0.02
PRESS_N_M, STROKE_N_M, SWEEP_N_M, RATE_HZ = 0.020, 0.012, 0.08, 2.0

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
duration_s = float(sys.argv[2]) if len(sys.argv) > 2 else 6.0
folder.mkdir(parents=True, exist_ok=True)
simulation = Simulation('starfish', Path(__file__).parent / 'wide_floor.yaml')
angles = np.radians([0.0, 72.0, 144.0, 216.0, 288.0])
path = folder / 'starfish_walks.mp4'

with (
    Camera(simulation, 'near') as camera,
    Video(path, 0.5 / FRAME_S, camera.width_px, camera.height_px) as video,
):
    simulation.step(0.3)
    start = simulation.pose('body')
    for i in range(round(duration_s / FRAME_S)):
        time_s = i * FRAME_S
        begun, phase = min(time_s / 0.3, 1.0), 2.0 * np.pi * RATE_HZ * time_s
        for k, arm in enumerate(simulation.robots.values()):
            press_n_m = PRESS_N_M - (STROKE_N_M * np.cos(phase) if k > 0 else 0.0)
            sweep_n_m = -SWEEP_N_M * np.sin(angles[k]) * np.sin(phase)
            arm.actuate([begun * press_n_m, begun * sweep_n_m])
        simulation.step(FRAME_S)
        if i % 2 == 0:
            video.add(camera.picture())
forward_mm = 1e3 * (simulation.pose('body') - start)[0, 3]
aside_mm = 1e3 * (simulation.pose('body') - start)[1, 3]
print(f'the starfish walked {forward_mm:.0f} mm, and {aside_mm:.0f} mm aside; video: {path}')

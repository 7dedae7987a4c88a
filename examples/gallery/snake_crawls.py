"""A snake crawls: waves run along its body, and its belly slides along more easily than across.

Usage: python snake_crawls.py [FOLDER] [SECONDS]; makes the video FOLDER/snake_crawls.mp4
(default: out, 6). Without the difference in friction it would slip back.
"""

import sys
from pathlib import Path

import numpy as np

from soft_arm_physics import Camera, Simulation, Video

FRAME_S = 0.02
TORQUE_N_M, RATE_HZ, LAG_RAD = 0.6, 1.0, np.pi / 3

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
duration_s = float(sys.argv[2]) if len(sys.argv) > 2 else 6.0
folder.mkdir(parents=True, exist_ok=True)
simulation = Simulation('snake', Path(__file__).parent / 'wide_floor.yaml')
snake = simulation.robots['snake']
path = folder / 'snake_crawls.mp4'

with (
    Camera(simulation, 'wide') as camera,
    Video(path, 0.5 / FRAME_S, camera.width_px, camera.height_px) as video,
):
    start_m = snake.backbone_m().mean(axis=0)
    for i in range(round(duration_s / FRAME_S)):
        time_s = i * FRAME_S
        phases = 2.0 * np.pi * RATE_HZ * time_s + LAG_RAD * np.arange(len(snake.coordinates))
        snake.actuate(min(time_s / 0.5, 1.0) * TORQUE_N_M * np.sin(phases))
        simulation.step(FRAME_S)
        if i % 2 == 0:
            video.add(camera.picture())
    moved_mm = 1e3 * (snake.backbone_m().mean(axis=0) - start_m)
print(f'the snake crawled {moved_mm[0]:.0f} mm, and {moved_mm[1]:.0f} mm aside; video: {path}')

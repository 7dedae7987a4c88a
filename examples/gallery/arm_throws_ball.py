"""A soft arm swings back, swings forward, and its three fingers let a ball go.

Usage: python arm_throws_ball.py [FOLDER] [PICTURES]; makes the video FOLDER/arm_throws_ball.mp4,
with PICTURES a second of simulated time (default: out, 100; it plays at a quarter of the speed).
With half the time step the ball lands 2 % farther.
"""

import sys
from pathlib import Path

from soft_arm_physics import Camera, Simulation, Video

HOLD_N_M, LET_GO_N_M, BACK_N_M, FORWARD_N_M = 0.030, -0.050, -1.5, 4.0
SWING_S, RAMP_S, RELEASE_S, REST_S, STEP_S = 0.8, 0.1, 0.9, 1.1, 0.01
TIME_STEP_S = 0.0005  # the ball rolls over soft fingertips while they open

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
every = round(100 / (int(sys.argv[2]) if len(sys.argv) > 2 else 100))
folder.mkdir(parents=True, exist_ok=True)
here = Path(__file__).parent
simulation = Simulation(
    here / 'ball_thrower.yaml', here / 'ball_and_floor.yaml', time_step_s=TIME_STEP_S
)
path = folder / 'arm_throws_ball.mp4'

with (
    Camera(simulation, 'side') as camera,
    Video(path, 25.0 / every, camera.width_px, camera.height_px) as video,
):
    top_m = 0.0
    for i in range(300):
        time_s = i * STEP_S
        swing_n_m = BACK_N_M * min(time_s / 0.6, 1.0)
        swung = min(max(time_s - SWING_S, 0.0) / RAMP_S, 1.0)
        swing_n_m += (FORWARD_N_M - BACK_N_M) * swung
        swing_n_m = 0.0 if time_s >= REST_S else swing_n_m
        grasp_n_m = LET_GO_N_M if time_s >= RELEASE_S else HOLD_N_M * min(time_s / 0.2, 1.0)
        simulation.robots['arm'].actuate([swing_n_m])
        for name in ('finger_1', 'finger_2', 'finger_3'):
            simulation.robots[name].actuate([grasp_n_m, 0.0])
        simulation.step(STEP_S)
        x_m, y_m, z_m = simulation.pose('ball')[:3, 3]
        top_m = max(top_m, z_m)
        if i % every == 0:
            video.add(camera.picture())
        if time_s > RELEASE_S and z_m < 0.035:  # the ball's radius is 30 mm
            break
print(f'the ball rose to {top_m:.2f} m and landed at x = {x_m:.2f} m; video: {path}')

"""Region of acquisition of a pinch grasp: from which places do two fingers pick up a cube?

Usage: python pinch_region.py [FOLDER] [COUNT]; tries COUNT x COUNT places of the cube on the table
and draws FOLDER/pinch_region.png (default: out, 13). The cube is held if it stays for 2 s when the
table is taken away. As many grasps run at a time as there are cores.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from soft_arm_physics import Camera, Simulation

GRASP_N_M, STEP_S, HOLD_S = 0.030, 0.02, 2.0

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
count = int(sys.argv[2]) if len(sys.argv) > 2 else 13
folder.mkdir(parents=True, exist_ok=True)
here = Path(__file__).parent
start = Simulation(here / 'pinch_hand.yaml', here / 'pinch_table.yaml')


def grasp(place_m: tuple[float, float]) -> Simulation:
    """Put the cube at a place, and close the fingers."""
    simulation = start.copy()
    simulation.place('cube', (*place_m, 0.0665))
    for i in range(20):
        for finger in simulation.robots.values():
            finger.actuate([GRASP_N_M * min(i / 15, 1.0), 0.0])
        simulation.step(STEP_S)
    return simulation


def is_held(place_m: tuple[float, float]) -> bool:
    """Return whether the cube stays in the hand without the table."""
    simulation = grasp(place_m)
    simulation.place('table', (0.0, 0.0, -1.0))
    simulation.step(HOLD_S)
    return bool(simulation.pose('cube')[2, 3] > 0.04)


x_m, y_m = np.linspace(-0.024, 0.024, count), np.linspace(-0.016, 0.016, count)
with ThreadPoolExecutor(os.cpu_count()) as threads:
    held = np.array(list(threads.map(is_held, [(x, y) for y in y_m for x in x_m])))
held = held.reshape(count, count)

figure = Figure(figsize=(10.0, 4.0), layout='constrained')
left, right = figure.subplots(1, 2)
left.pcolormesh(1e3 * x_m, 1e3 * y_m, held, cmap='Greens', edgecolor='0.8')
left.set(xlabel='x of the cube [mm]', ylabel='y of the cube [mm]', title='held', aspect='equal')
with Camera(grasp((0.0, 0.0)), 'side') as camera:
    right.imshow(camera.picture())
right.axis('off')
figure.savefig(folder / 'pinch_region.png')
print(f'held from {held.mean():.2f} of the places; drawn in {folder / "pinch_region.png"}')

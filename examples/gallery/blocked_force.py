"""Blocked force of a pneumatic finger: how hard it presses on a scale beside its tip.

Usage: python blocked_force.py [FOLDER] [COUNT]; draws COUNT pressures up to 100 kPa into
FOLDER/blocked_force.png (default: out, 9). The finger is measured to press 0.75 N at 100 kPa.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from soft_arm_description import World
from soft_arm_physics import Simulation

folder = Path(sys.argv[1] if len(sys.argv) > 1 else 'out')
count = int(sys.argv[2]) if len(sys.argv) > 2 else 9
folder.mkdir(parents=True, exist_ok=True)

TIP_RADIUS_M = 0.0085
scale = {
    'name': 'scale',
    'shape': 'sphere',
    'size_m': [0.01],
    'fixed': True,
    'friction': 0.0,
    'position_m': [0.0, -0.01 - TIP_RADIUS_M, 0.1],
}
world = World.model_validate(
    {
        'schema_version': 1,
        'name': 'bench',
        'description': 'A scale that touches the tip, and no gravity.',
        'gravity_m_s2': [0.0, 0.0, 0.0],
        'objects': [scale],
    }
)
simulation = Simulation('soft_finger', world)
grasp = simulation.robot.coordinates[0]

pressures_pa = np.linspace(0.0, 100e3, count)
forces_n = []
for pressure_pa in pressures_pa:
    simulation.robot.actuate([grasp.high * pressure_pa / 100e3, 0.0])  # 100 kPa: its largest torque
    simulation.settle(critical=True)
    forces_n.append(sum(c.force_n[1] for c in simulation.contacts() if 'scale' in c.body_a))

figure = Figure(figsize=(6.0, 4.0), layout='constrained')
axes = figure.subplots()
axes.plot(pressures_pa / 1e3, forces_n, 'o-', label='simulation, with contact')
axes.plot(100.0, 0.75, 'r*', markersize=12, label='measured')
axes.set(xlabel='pressure [kPa]', ylabel='blocked force [N]', title='soft_finger')
axes.legend()
axes.grid(alpha=0.3)
figure.savefig(folder / 'blocked_force.png')
print(f'blocked force at 100 kPa: {forces_n[-1]:.3f} N; drawn in {folder / "blocked_force.png"}')

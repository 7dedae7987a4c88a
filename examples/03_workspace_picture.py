"""The workspace of an arm: volume, distance of a point to its boundary, and a picture.

Usage: python 03_workspace_picture.py [FOLDER]; needs Matplotlib. Without FOLDER the picture goes to
a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import soft_arm_kinematics as sak
from soft_arm_kinematics.plots import draw_workspace

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
arm = sak.load_arm('two_module_arm')
reachable = sak.reachable_set(arm, sak.build_table(arm, 100_000), cells=24)
print(f'the tip reaches {reachable.volume_text} (two standard errors)')

point_m = [0.05, 0.0, 0.25]
distance_mm = 1e3 * float(reachable.distance_m(point_m))
where = 'inside' if distance_mm > 0 else 'outside'
print(f'{point_m} m lies {abs(distance_mm):.0f} mm {where} the boundary')

path = folder / 'workspace.png'
draw_workspace(arm, reachable).savefig(path)
print(f'drawn in {path}')

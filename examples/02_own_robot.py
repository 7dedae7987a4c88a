"""An own robot in ten lines: a shipped robot with a third module, checked and used like any other.

To keep it, copy a shipped robot file, edit it, and give its path to `load_robot` or `--robot`.
"""

import numpy as np

import soft_arm_kinematics as sak

content = sak.load_robot('two_module_arm').model_dump(mode='json', exclude_unset=True)
last = content['segments'][-1]
names = ['m3_b1', 'm3_b2', 'm3_b3']
smaller = last['actuators'] | {'names': names, 'centre_radius_m': 0.025}
content['name'] = 'three_module_arm'
content['segments'] += [last | {'name': 'module_3', 'actuators': smaller}]
content['channels'] |= {name: 6 + i for i, name in enumerate(names)}
arm = sak.make_arm(sak.Robot.model_validate(content))
shape = arm.at(arm.rest_q + 0.01 * (np.arange(9) % 3 == 0))
print(f'{arm.robot.name}: tip at {np.round(shape.tip_m * 1e3, 2)} mm')

print(f'{arm.n_actuators} actuators: {", ".join(arm.robot.chambers)}')
print(f'bends {np.round(np.rad2deg(shape.theta_rad), 2)} deg')

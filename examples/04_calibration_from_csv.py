"""Calibration: pressures and lengths in a CSV file to a curve for every bellows of an arm."""

import tempfile
from pathlib import Path

import numpy as np

import soft_arm_kinematics as sak

robot = sak.load_robot('two_module_arm')

# What a bench would record: every bellows at nine pressures, up and down again, to 0.2 mm.
path = Path(tempfile.mkdtemp()) / 'lengths.csv'
random, true = np.random.default_rng(0), sak.make_arm(robot)
steps_pa = np.linspace(*true.pressure_limits_pa[:, 0], 9)
rows = ['chamber,pressure_pa,length_m']
for pressure_pa in [*steps_pa, *steps_pa[::-1]]:
    lengths_m = true.lengths(np.full(6, pressure_pa)) + random.normal(0.0, 0.2e-3, 6)
    rows += [f'{n},{pressure_pa},{v}' for n, v in zip(robot.chambers, lengths_m, strict=True)]
path.write_text('\n'.join(rows) + '\n')

curve = sak.fit_curve(robot, sak.read_points(path), family='auto')
for name, fit in curve.fits.items():
    print(
        f'{name}: {fit.family}, residual {fit.residual_rms * 1e3:.2f} mm, '
        f'hysteresis {fit.hysteresis_max * 1e3:.2f} mm'
    )

arm = sak.BellowsArm(robot, curve)
pressures_pa = np.full(6, 20e3)
error_m = arm.at(arm.lengths(pressures_pa)).tip_m - true.at(true.lengths(pressures_pa)).tip_m
print(f'tip at 20 kPa: {np.linalg.norm(error_m) * 1e3:.2f} mm from the true one')

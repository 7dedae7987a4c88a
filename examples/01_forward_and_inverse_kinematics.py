"""Forward and inverse kinematics of the two-module arm: pressures to tip position, and back.

The very first run compiles the solver, which takes about a minute; later runs take seconds.
"""

import numpy as np

import soft_arm_kinematics as sak

arm = sak.load_arm('two_module_arm')
pressures_pa = np.array([-60e3, 20e3, 20e3, 40e3, -10e3, 0.0])

shape = arm.at(arm.lengths(pressures_pa))
print(f'tip at {np.round(shape.tip_m * 1e3, 2)} mm in the frame {arm.robot.base.frame}')
for name, theta, phi, ell in zip(
    arm.robot.segment_names, shape.theta_rad, shape.phi_rad, shape.ell_m, strict=True
):
    print(
        f'{name}: bend {np.rad2deg(theta):.2f} deg towards {np.rad2deg(phi):.2f} deg, '
        f'length {ell * 1e3:.2f} mm'
    )
print(
    f'1 mm on {arm.robot.chambers[0]} moves the tip by {np.round(shape.tip_jacobian[:, 0], 3)} mm'
)

result = sak.InverseKinematics(arm).solve(shape.tip_m, max_solutions=3)
for rank, solution in enumerate(result.solutions, start=1):
    print(f'{rank}: {np.round(solution.pressures_pa / 1e3, 1)} kPa; {solution.explanation}')
best = arm.at(arm.lengths(result.solutions[0].pressures_pa)).tip_m
print(f'the best solution misses the target by {np.linalg.norm(best - shape.tip_m) * 1e6:.3f} um')

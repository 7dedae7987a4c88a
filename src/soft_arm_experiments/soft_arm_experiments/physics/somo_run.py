"""Run SoMo once: `python somo_run.py CHECKOUT DEFINITION TIME_STEP_S DURATION_S BALL_TORQUE_N_M`.

With a torque there are ground and ball, and it acts about axis 1 of the first two actuators. A file
of its own, without this package: SoMo needs another Python. It prints one line of JSON.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

checkout, definition, time_step_s, duration_s, ball_torque = sys.argv[1:]
sys.path.insert(0, checkout)
definition = str(Path(definition).resolve())
os.chdir(tempfile.mkdtemp())  # SoMo writes a URDF where it runs

import pybullet  # noqa: E402
from somo.sm_continuum_manipulator import SMContinuumManipulator  # noqa: E402
from somo.sm_manipulator_definition import SMManipulatorDefinition  # noqa: E402

client = pybullet.connect(pybullet.DIRECT)
pybullet.setTimeStep(float(time_step_s))
arm = SMContinuumManipulator(SMManipulatorDefinition.from_file(definition))
arm.load_to_pybullet([0, 0, 0], [0, 0, 0, 1], 'static', client)
axes = [(int(a), int(x)) for a, of in arm.actuatorAxis_joints.items() for x in of]
torque_n_m = float(ball_torque)
torques = [torque_n_m if actuator < 2 and axis == 1 else 0.0 for actuator, axis in axes]
if torque_n_m:
    pybullet.setGravity(0, 0, -10)
    ground = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
    pybullet.createMultiBody(0, ground)
    sphere = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.4)
    pybullet.createMultiBody(0.3, sphere, basePosition=[3.5, 0.75, 0.5])
else:
    pybullet.setGravity(9.81, 0, 0)
steps = round(float(duration_s) / float(time_step_s))
start = time.process_time()
for _ in range(steps):
    arm.apply_actuation_torques([a for a, _ in axes], [x for _, x in axes], torques)
    pybullet.stepSimulation()
cpu_s = time.process_time() - start
last = pybullet.getLinkState(
    arm.bodyUniqueId, arm.flexible_joint_indices[-1], computeForwardKinematics=True
)
states = [pybullet.getJointState(arm.bodyUniqueId, j) for j in arm.flexible_joint_indices]
answer = {
    'rtf': steps * float(time_step_s) / cpu_s,
    'angles_rad': [s[0] for s in states],
    'last_hinge_m': last[4],
    'fastest_rad_s': max(abs(s[1]) for s in states),
}
sys.stdout.write('\n' + json.dumps(answer) + '\n')

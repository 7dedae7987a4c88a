"""A rig is calibrated without the dependencies of simulators, training and studies."""

import subprocess
import sys

PROGRAM = """
import importlib, importlib.abc, pkgutil, sys

ABSENT = {'torch', 'dask', 'distributed', 'elastica', 'pyransac3d', 'mujoco'}
ABSENT |= {'soft_arm_physics', 'soft_arm_sim', 'soft_arm_training', 'soft_arm_experiments'}


class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition('.')[0] in ABSENT:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Blocker())
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
    importlib.import_module(module.name)
"""


def test_every_module_imports_in_a_rig_installation():
    subprocess.run([sys.executable, '-c', PROGRAM, 'soft_arm_calibration'], check=True)

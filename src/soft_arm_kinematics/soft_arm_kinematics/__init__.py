"""Kinematics of soft robots: shape, inverse kinematics, workspace, calibration and contact.

    import soft_arm_kinematics as sak

    arm = sak.load_arm('two_module_arm')
    shape = arm.at(arm.rest_q)
    print(shape.tip_m, shape.theta_rad)

The names below are imported when they are first used, so that `import soft_arm_kinematics` is fast:
the compiler behind inverse kinematics alone takes more than a second to load.
"""

from typing import TYPE_CHECKING

from soft_arm_io.lazy import lazy_names

if TYPE_CHECKING:
    from soft_arm_description import Robot as Robot
    from soft_arm_description import load_robot as load_robot
    from soft_arm_kinematics.arm import Arm as Arm
    from soft_arm_kinematics.arm import BellowsArm as BellowsArm
    from soft_arm_kinematics.arm import load_arm as load_arm
    from soft_arm_kinematics.arm import make_arm as make_arm
    from soft_arm_kinematics.calibration import fit_curve as fit_curve
    from soft_arm_kinematics.calibration import fit_modal as fit_modal
    from soft_arm_kinematics.calibration import read_points as read_points
    from soft_arm_kinematics.calibration import read_shapes as read_shapes
    from soft_arm_kinematics.configuration import Configuration as Configuration
    from soft_arm_kinematics.contact import ContactStream as ContactStream
    from soft_arm_kinematics.contact import locate_contact as locate_contact
    from soft_arm_kinematics.errors import KinematicsError as KinematicsError
    from soft_arm_kinematics.ik import InverseKinematics as InverseKinematics
    from soft_arm_kinematics.segments.modal import ModalModel as ModalModel
    from soft_arm_kinematics.workspace import build_table as build_table
    from soft_arm_kinematics.workspace import reachable_set as reachable_set

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        'soft_arm_description': ('Robot', 'load_robot'),
        'soft_arm_kinematics.arm': ('Arm', 'BellowsArm', 'load_arm', 'make_arm'),
        'soft_arm_kinematics.calibration': ('fit_curve', 'fit_modal', 'read_points', 'read_shapes'),
        'soft_arm_kinematics.configuration': ('Configuration',),
        'soft_arm_kinematics.contact': ('ContactStream', 'locate_contact'),
        'soft_arm_kinematics.errors': ('KinematicsError',),
        'soft_arm_kinematics.ik': ('InverseKinematics',),
        'soft_arm_kinematics.segments.modal': ('ModalModel',),
        'soft_arm_kinematics.workspace': ('build_table', 'reachable_set'),
    },
)
